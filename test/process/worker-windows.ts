/** Windows of limits that several processes of one service fill together. */
import { type Client, clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { operatorOf, startService } from '../support/process.ts';
import { countedWindow } from '../support/windows.ts';

export interface WorkerWindowFigures {
  readonly admitted: number;
  /** Workers that answered, by the ids they give to requests. */
  readonly workers: number;
}

export interface WorkerWindowOptions {
  readonly windows: number;
  readonly workers: number;
  readonly progress?: (line: string) => void;
}

/**
 * Uses up a new account's minute, window after window, with two keys and 64 requests at once. Throws unless exactly the
 * limit was admitted, and each value of Remaining shown once.
 */
export async function fillWindows({
  windows,
  workers,
  progress,
}: WorkerWindowOptions): Promise<WorkerWindowFigures> {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path, { WORKERS: `${workers}`, LOG_LEVEL: 'warn' });
  await using operator = await operatorOf(folder.path);
  const answeredBy = new Set<string>();
  const seenBy = (client: Client): Client => ({
    ...client,
    get: async (target) => {
      const reply = await client.get(target);
      answeredBy.add(/^(.*)-\d+$/.exec(reply.headers.get('x-request-id') ?? '')?.[1] ?? '');
      return reply;
    },
  });
  let admitted = 0;
  for (let window = 0; window < windows; window++) {
    const limit = 100 + window;
    const quota = { perMinute: limit, perDay: 1_000_000 };
    const account = await operator.accounts.create(`window ${window}`, 'enterprise', quota);
    const clients: Client[] = [];
    for (const name of ['one', 'other']) {
      clients.push(seenBy(clientOf(service.url, (await operator.keys.create(account.id, name)).key)));
    }
    const remaining = await countedWindow(clients, limit);
    const wrong = remaining.findIndex((value, index) => value !== index);
    if (remaining.length !== limit || wrong >= 0) {
      throw new Error(
        `Window ${window}: ${remaining.length} of ${limit} admitted, Remaining wrong at ${wrong}.`,
      );
    }
    admitted += limit;
    progress?.(`${window + 1} windows`);
  }
  return { admitted, workers: answeredBy.size };
}
