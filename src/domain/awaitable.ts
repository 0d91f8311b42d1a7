/** A value that is here already or comes later: embedded stores answer at once, networked ones do not. */
export type Awaitable<T> = T | Promise<T>;

/** Continues at once if the value is here: an `await` would pause even then, which makes a request a tenth more expensive. */
export function andThen<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

export function orElse<T>(work: () => Awaitable<T>, next: (error: unknown) => Awaitable<T>): Awaitable<T> {
  try {
    const value = work();
    return value instanceof Promise ? value.catch(next) : value;
  } catch (error) {
    return next(error);
  }
}
