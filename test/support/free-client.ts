import type { AnimalStoreOptions } from '../../client/src/index.ts';
import type { TestApp } from './app.ts';
import { VirtualTime } from './virtual-time.ts';

/** Creates a client for a new Free account. Records the time and status of each response. */
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
  /** Sends requests with the same key but without the client, as another program would. */
  const othersSend = async (count: number) => {
    const send = () => app.call('GET', '/inventory', { key });
    return Promise.all(Array.from({ length: count }, send));
  };
  return { key, time, answers, client, store: client(), othersSend };
}
