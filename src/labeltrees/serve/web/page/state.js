// The shared state of the page: the selected model, and events between the parts.
//
// Events: "model" (another model was selected, and state.about is new), "learned" (the model has
// learned), "predicted" (there is a new prediction), "explain", "learn", "learned-label" and
// "show-label" (their detail is a label).

export const state = { models: [], about: null };

const bus = new EventTarget();
export const on = (name, act) => bus.addEventListener(name, (event) => act(event.detail));
export const emit = (name, detail) => bus.dispatchEvent(new CustomEvent(name, { detail }));

export const modelName = () => state.about?.name;
export const can = (capability) => Boolean(state.about?.capabilities.includes(capability));
