import type { AnimalStoreOptions } from '../../client/src/index.ts';
import type { TestApp } from './app.ts';
import { VirtualTime } from './virtual-time.ts';

/** A client of a new Free account, with the times and statuses of its attempts. */
export async function freeClientOf(app: TestApp, options: Partial<AnimalStoreOptions> = {}) {
  const { key } = await app.tenant('free');
  const time = new VirtualTime(app.clock);
  const answers: string[] = [];
  const client = (more: Partial<AnimalStoreOptions> = {}) =>
    time.client({
      key,
      url: app.url,
      onResponse: ({ status, url }) => {
        const what = url.endsWith('/rate-limit') ? 'asked' : status;
        answers.push(`${what} at ${Math.round(time.now() / 1_000)}`);
      },
      ...options,
      ...more,
    });
  /** Sends this number of requests with the same key from another program. */
  const othersSend = async (count: number) => {
    const send = () => app.call('GET', '/inventory', { key });
    return Promise.all(Array.from({ length: count }, send));
  };
  return { key, time, answers, client, store: client(), othersSend };
}
