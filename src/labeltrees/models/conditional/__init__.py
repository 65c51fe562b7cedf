"""Conditional probability trees and conditional PECOC (paper 1)."""
