// What all parts of the page know: which model is looked at, and who wants to hear of changes.
//
// Events: "model" (another model, or what is known of it changed: state.about is new),
// "learned" (the model has learned since), "answered" (a question was),
// "explain", "teach", "taught" and "show-label" (their detail is a label).

export const state = { models: [], about: null };

const bus = new EventTarget();
export const on = (name, act) => bus.addEventListener(name, (event) => act(event.detail));
export const tell = (name, detail) => bus.dispatchEvent(new CustomEvent(name, { detail }));

export const modelName = () => state.about?.name;
export const answers = (question) => Boolean(state.about?.answers.includes(question));
