/** The thread that talks to receivers and name servers (see `receivers.ts`). It has no access to the store. */
import { parseNetwork } from '../domain/address.ts';
import {
  createReceivers,
  type Receivers,
  type SendTask,
  type ThreadResult,
  type ThreadTask,
} from './receivers.ts';
import { systemResolve } from './resolver.ts';
import type { Outcome } from './send.ts';

declare const self: Worker;

const abortControllers = new Map<number, AbortController>();

async function perform(receivers: Receivers, task: ThreadTask): Promise<void> {
  const { kind, id } = task;
  if (kind === 'abort') return abortControllers.get(id)?.abort();
  try {
    const result = await (kind === 'send'
      ? send(receivers, task)
      : receivers.check(task.url, task.accountId));
    self.postMessage({ id, result } satisfies ThreadResult);
  } catch (error) {
    self.postMessage({ id, failure: String(error) } satisfies ThreadResult);
  }
}

async function send(receivers: Receivers, { id, delivery }: SendTask): Promise<Outcome> {
  const abortController = new AbortController();
  abortControllers.set(id, abortController);
  try {
    return await receivers.send({ ...delivery, signal: abortController.signal });
  } finally {
    abortControllers.delete(id);
  }
}

/** The first message lists the allowed networks. */
self.onmessage = ({ data }: MessageEvent<readonly string[]>) => {
  const allowed = data.map(parseNetwork).filter((network) => network !== undefined);
  const clock = { now: () => performance.now() };
  const receivers = createReceivers({ resolve: systemResolve, allowed, clock });
  self.onmessage = ({ data: task }: MessageEvent<ThreadTask>) => perform(receivers, task);
};
