/**
 * Asks the service on this machine what a load balancer asks it: for health checks of containers, which may have no
 * other program to ask with.
 */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { listeningAddress } from '../app.ts';
import type { Config } from '../config.ts';
import { CommandError, messageOf, say } from './terminal.ts';

/** Longer than a service takes that answers at all. What runs health checks has a time-out of its own. */
const answerWithinMs = 5_000;

/** Says how the service is that has these settings. Throws `CommandError` when it serves no requests. */
export async function sayReady({ host, port }: Config): Promise<void> {
  if (port === 0) throw new CommandError('Where the service listens is not known, because PORT is 0.', 2);
  const url = `${listeningAddress(host, port)}/readyz`;
  const { status, body } = await answerOf(url);
  if (status !== 200) throw new CommandError(`The service is not ready: ${body}`);
  say(body);
}

async function answerOf(url: string): Promise<{ status: number | undefined; body: string }> {
  try {
    // Not fetch, which would ask through the proxy that HTTP_PROXY names.
    const request = get(url, { signal: AbortSignal.timeout(answerWithinMs) });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return { status: response.statusCode, body: (await text(response)).trim() };
  } catch (error) {
    throw new CommandError(`No answer from ${url}: ${messageOf(error)}`, 1, error);
  }
}
