import type { Client, Reply } from './client.ts';

/** Requests that go on while a test mistreats the servers. */
export interface Load {
  /** Ends it, and returns every reply there was. A request that never was answered is thrown. */
  stop(): Promise<readonly Reply[]>;
}

/** Longer than any promise of the service: a request that takes it hangs. */
const hangMs = 10_000;

/** Sends one request after the other, `atOnce` at a time. */
export function load(atOnce: number, send: (number: number) => Promise<Reply>): Load {
  const replies: Reply[] = [];
  let stopped = false;
  let number = 0;
  const go = async () => {
    while (!stopped) {
      const hung = Bun.sleep(hangMs).then(() => {
        throw new Error(`A request was not answered within ${hangMs} ms.`);
      });
      replies.push(await Promise.race([send(number++), hung]));
    }
  };
  const going = Promise.all(Array.from({ length: atOnce }, go));
  return {
    stop: async () => {
      stopped = true;
      await going;
      return replies;
    },
  };
}

/** Resolves when the condition holds; rejects after the time given. */
export async function until(condition: () => Promise<boolean> | boolean, withinMs: number): Promise<number> {
  const start = performance.now();
  while (!(await condition())) {
    if (performance.now() - start > withinMs) throw new Error(`It did not come about within ${withinMs} ms.`);
    await Bun.sleep(20);
  }
  return performance.now() - start;
}

/** What /readyz of an instance says. */
export async function readiness(url: string): Promise<{ status: string; trouble?: string[] }> {
  return (await fetch(`${url}/readyz`)).json() as Promise<{ status: string; trouble?: string[] }>;
}

/** The names of all animals, page by page. */
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
