/**
 * Connections to all workers, one per worker. The operating system chooses the worker, so connections are opened until
 * every worker has one.
 */
import { serveWorker } from '../../src/cli/processes.ts';
import type { Service } from '../support/process.ts';
import { childrenOf, commandOf } from '../support/process-tree.ts';
import { until } from '../support/wait.ts';
import { Connection, type RawReply } from './connection.ts';

/** Prefix of the request id, which identifies the process. */
export function processOf({ head }: RawReply): string {
  return /^x-request-id: *(\S+)-\d+$/im.exec(head)?.[1] ?? '';
}

/** The value of a response header. Empty if the header is absent. */
export function headerOf({ head }: RawReply, name: string): string {
  return new RegExp(`^${name}: *(.*?)\r?$`, 'im').exec(head)?.[1] ?? '';
}

export class EachWorker implements Disposable {
  /** One connection per worker. */
  readonly connections: readonly Connection[];

  private constructor(connections: readonly Connection[]) {
    this.connections = connections;
  }

  /** Opens the connections. Sends at least one request with the key to each worker. */
  static async meet({ url }: Pick<Service, 'url'>, key: string, workers: number): Promise<EachWorker> {
    const met = new Map<string, Connection>();
    await until(async () => {
      const connection = await Connection.open(url);
      const process = processOf(await connection.get('/v1/pets?limit=1', key));
      if (met.has(process)) connection[Symbol.dispose]();
      else met.set(process, connection);
      return met.size === workers;
    });
    return new EachWorker([...met.values()]);
  }

  /** Sends a request to each worker in turn. */
  async ask(path: string, key: string): Promise<RawReply[]> {
    const replies: RawReply[] = [];
    for (const connection of this.connections) replies.push(await connection.get(path, key));
    return replies;
  }

  async statuses(key: string): Promise<number[]> {
    return (await this.ask('/v1/pets?limit=1', key)).map(({ status }) => status);
  }

  [Symbol.dispose](): void {
    for (const connection of this.connections) connection[Symbol.dispose]();
  }
}

/** Process id of the worker with this number. */
export function workerPid({ pid }: Pick<Service, 'pid'>, number: number): number {
  const found = childrenOf(pid).find((child) => commandOf(child).endsWith(`${serveWorker} ${number}`));
  if (found === undefined) throw new Error(`There is no worker ${number}.`);
  return found;
}
