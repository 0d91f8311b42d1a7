/** A value that is here already or comes later: embedded stores answer at once, networked ones do not. */
export type Awaitable<T> = T | Promise<T>;

/**
 * Goes on with a value: at once if it is here. An `await` would pause even then, and a request that pauses costs
 * a tenth more, for the server has to keep it beyond its turn.
 */
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
