/** What every change of an operator's has in common: it depends on nothing, and happens now. */
export function unconditional() {
  return { preconditions: {}, now: Date.now() };
}
