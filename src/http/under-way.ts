import type { Awaitable } from '../domain/awaitable.ts';

type Server = Pick<Bun.Server<undefined>, 'timeout'>;

/**
 * Keeps the connection of a request open until it is answered: the runtime would take one for idle whose answer takes
 * longer than the idle time-out, as with a database that was given more time, and close it without a word.
 */
export function underWay(
  server: Server,
  request: Request,
  answer: Awaitable<Response>,
  idleTimeoutSeconds: number,
): Awaitable<Response> {
  if (!(answer instanceof Promise)) return answer;
  server.timeout(request, 0);
  return answer.finally(() => server.timeout(request, idleTimeoutSeconds));
}
