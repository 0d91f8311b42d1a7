import type { Client, Reply } from './client.ts';
import { maxWaitMs, until } from './wait.ts';

/** Sends requests continuously while a test breaks servers. */
export interface Load {
  /** Resolves after this number of additional replies for which `fits` returns true. Defaults to any reply. */
  more(count: number, fits?: (reply: Reply) => boolean): Promise<void>;
  /** Stops the load and returns all replies. Throws if a request failed without a reply. */
  stop(): Promise<readonly Reply[]>;
}

/**
 * Sends requests continuously, `atOnce` at a time, with an optional pause between requests. A pause keeps the load from
 * occupying the whole machine.
 */
export function load(atOnce: number, send: (number: number) => Promise<Reply>, pauseMs = 0): Load {
  const replies: Reply[] = [];
  let stopped = false;
  let number = 0;
  const go = async () => {
    while (!stopped) {
      const hung = Bun.sleep(maxWaitMs).then(() => {
        throw new Error('A request got no response.');
      });
      replies.push(await Promise.race([send(number++), hung]));
      if (pauseMs > 0) await Bun.sleep(pauseMs);
    }
  };
  const going = Promise.all(Array.from({ length: atOnce }, go));
  return {
    more: async (count, fits = () => true) => {
      const from = replies.length;
      const enough = () => replies.slice(from).filter(fits).length >= count;
      await Promise.race([until(enough), going.then(() => undefined)]);
    },
    stop: async () => {
      stopped = true;
      await going;
      return replies;
    },
  };
}

/** The response of an instance's /readyz. */
export async function readiness(url: string): Promise<{ status: string; trouble?: string[] }> {
  return (await fetch(`${url}/readyz`)).json() as Promise<{ status: string; trouble?: string[] }>;
}

/** Resolves once /readyz reports this status on all instances. Otherwise, rejects with their last responses. */
export async function untilAll(urls: readonly string[], wanted: string, withinMs?: number): Promise<void> {
  let last: Awaited<ReturnType<typeof readiness>>[] = [];
  const areAll = async () => {
    last = await Promise.all(urls.map(readiness));
    return last.every(({ status }) => status === wanted);
  };
  await until(areAll, withinMs).catch((error: Error) => {
    throw new Error(`${error.message}\nNot all are ${wanted}: ${JSON.stringify(last)}`);
  });
}

/** The names of all animals, read page by page. */
export async function allNames(client: Client): Promise<string[]> {
  const names: string[] = [];
  for (let target: string | undefined = '/pets?limit=100'; target !== undefined; ) {
    const reply: Reply = await client.get(target);
    if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
    names.push(...(JSON.parse(reply.text) as { name: string }[]).map(({ name }) => name));
    target = /<\/v1(\/[^>]+)>; rel="next"/.exec(reply.headers.get('link') ?? '')?.[1];
  }
  return names;
}
