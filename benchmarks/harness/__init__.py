"""What all benchmarks share: options, data sets, programs, measuring, results and pages."""
