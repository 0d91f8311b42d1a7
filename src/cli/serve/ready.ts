/** Checks the readiness of the local service, for containers without an HTTP client. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { addCommand, type ReadConfig } from '../command.ts';
import { CommandError, errorMessage, printLine } from '../terminal.ts';

/** Longer than any response should take, and longer than the timeouts of most health checks. */
const replyTimeoutMs = 5_000;

export function addReadyCommand(program: Command, config: ReadConfig): void {
  addCommand(program, 'ready', {
    summary: 'Check whether the service on this machine, with the same settings, is ready (/readyz).',
    examples: ['animal-store ready', 'PORT=8080 animal-store ready'],
    notes: [
      'For health checks. Exit code: 0 if the service is ready, 1 if it is not ready or does not respond.',
    ],
  }).action(async () => {
    const { host, port } = config();
    if (port === 0) throw new CommandError('The address of the service is unknown, because PORT is 0.', 2);
    const { localUrl } = await import('../../app/app.ts');
    const { status, body } = await getReadiness(`${localUrl(host, port)}/readyz`);
    if (status !== 200) throw new CommandError(`The service is not ready: ${body}`);
    printLine(body);
  });
}

async function getReadiness(url: string): Promise<{ status: number | undefined; body: string }> {
  try {
    // `fetch` would send the request to the proxy in HTTP_PROXY.
    const request = get(url, { signal: AbortSignal.timeout(replyTimeoutMs) });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return { status: response.statusCode, body: (await text(response)).trim() };
  } catch (error) {
    throw new CommandError(`No response from ${url}: ${errorMessage(error)}`, 1, error);
  }
}
