/** Checks the received requests against the feed and the listed deliveries. */
import type { Delivery } from '../../client/src/index.ts';
import { attemptDelaysMs } from '../../src/webhooks/attempt.ts';
import { until } from '../support/wait.ts';
import { same } from './failures.ts';
import { isAcceptance, type Receiver, type Seen } from './webhook-receivers.ts';
import { deliveriesOf } from './webhook-world.ts';
import type { Proof } from './webhooks.ts';

/** The outcome of an attempt is stored within this time. An attempt ends within 15 s. */
const settledWithinMs = 20_000;
const calmChanges = 60;
/** Maximum fraction by which jitter shortens a delay. */
const jitter = 0.1;
const patienceMs = 120_000;

/** Checks that each event is sent exactly once if no process is killed and the receivers accept every request. */
export async function checkCalm({ place, store, feed, receivers, writing, failures }: Proof): Promise<void> {
  for (const receiver of receivers.all) receiver.isCalm = true;
  const from = (await feed.update(place)).at(-1)?.id ?? 0;
  writing.allowed += calmChanges;
  await until(() => writing.done >= writing.allowed || failures.count > 0, patienceMs);
  failures.end();
  await feed.update(place);
  for (const receiver of receivers.all.filter(({ kind }) => kind.isDurable)) {
    const events = feed.wantedBy(receiver, from);
    await until(() => events.every(({ id }) => receiver.delivered.has(id)), patienceMs);
    await until(async () => (await deliveriesOf(store, receiver, 'pending')).length === 0, patienceMs);
    for (const { id } of events)
      same(`requests to ${receiver.kind.name} for event ${id}`, receiver.seen.get(id)?.length, 1);
  }
}

export async function checkDeliveries(proof: Proof): Promise<Record<string, number>> {
  const { place, store, feed, receivers } = proof;
  await feed.update(place);
  same('requests that followed a redirect', receivers.trapped, 0);
  const texts = new Map(feed.events.map(({ id, text }) => [id, text]));
  for (const [id, body] of receivers.bodies) same(`the body of event ${id}`, body.toString(), texts.get(id));
  const figures = {
    requests: receivers.requests,
    deliveries: 0,
    'attempts without a response': 0,
    'repeats of accepted events': 0,
    'responses to processes that were killed': 0,
    'disabled webhooks': 0,
  };
  for (const receiver of receivers.all) {
    const deliveries = await deliveriesOf(store, receiver);
    figures.deliveries += deliveries.length;
    checkTypes(proof, receiver, deliveries);
    for (const delivery of deliveries) {
      const seen = receiver.seen.get(Number(delivery.eventId)) ?? [];
      const what = `${receiver.kind.name}, event ${delivery.eventId}`;
      const { lost, silent } = compareAttempts(proof, what, delivery, seen);
      figures['responses to processes that were killed'] += lost;
      figures['attempts without a response'] += silent;
      figures['repeats of accepted events'] += checkRepeats(proof, what, seen);
    }
    figures['disabled webhooks'] += await checkDisabled(proof, receiver);
  }
  proof.failures.end();
  return figures;
}

/** Checks that each event of the selected types has exactly one delivery, and that there are no other deliveries. */
function checkTypes({ feed }: Proof, receiver: Receiver, deliveries: readonly Delivery[]): void {
  const { kind, seen, delivered } = receiver;
  const listed = new Set(deliveries.map(({ eventId }) => Number(eventId)));
  same(`deliveries of one event to ${kind.name}`, listed.size, deliveries.length);
  const wanted = new Set(feed.wantedBy(receiver, 0).map(({ id }) => id));
  const strange = [...seen.keys(), ...listed].find((id) => !wanted.has(id) || !listed.has(id));
  same(`an event that ${kind.name} must not receive, or that is not listed`, strange, undefined);
  if (!kind.isDurable) return;
  same(
    `an event without a delivery to ${kind.name}`,
    [...wanted].find((id) => !listed.has(id)),
    undefined,
  );
  same(
    `an event that ${kind.name} did not accept`,
    [...wanted].find((id) => !delivered.has(id)),
    undefined,
  );
}

/**
 * Checks that the receiver sent the listed responses and that the service respected them. A response may be missing
 * from the list only if the process that received it was killed.
 */
function compareAttempts(
  { failures, faults }: Proof,
  what: string,
  { status, attempts }: Delivery,
  seen: readonly Seen[],
): { lost: number; silent: number } {
  const left = seen.filter((one) => one.status !== undefined);
  let dueAt = 0;
  for (const [index, { status: listed, at: listedAt }] of attempts.entries()) {
    const at = Date.parse(listedAt);
    if (at < dueAt) failures.add(what, `Attempt ${index + 1} was made ${dueAt - at} ms too early.`);
    dueAt = at + (attemptDelaysMs[index + 1] ?? 0) * (1 - jitter);
    if (listed === undefined) continue;
    const found = left.findIndex((one) => one.status === listed && one.sentAt === Math.floor(at / 1_000));
    const [given] = found === -1 ? [] : left.splice(found, 1);
    if (given === undefined)
      failures.add(what, `An attempt is listed with ${listed}, which the receiver did not send.`);
    else dueAt = Math.max(dueAt, at + given.retryAfterMs);
  }
  const last = attempts.at(-1)?.status;
  if ((status === 'succeeded') !== isAcceptance(last))
    failures.add(what, `The delivery has the status ${status} after ${last}.`);
  for (const { at, status: given } of left) {
    if (!faults.isDisturbed(at, at + settledWithinMs))
      failures.add(what, `The response ${given} is not listed, and no process was killed.`);
  }
  const silent = attempts.filter((attempt) => attempt.status === undefined).length;
  return { lost: left.length, silent };
}

/** Checks that an accepted event is sent again only after a kill. Returns the number of repeats. */
function checkRepeats({ failures, faults }: Proof, what: string, seen: readonly Seen[]): number {
  let acceptedAt: number | undefined;
  let repeats = 0;
  for (const { at, status } of seen) {
    if (acceptedAt !== undefined) repeats++;
    if (acceptedAt !== undefined && !faults.isDisturbed(acceptedAt, at))
      failures.add(what, 'The event was sent again after it was accepted.');
    if (isAcceptance(status)) acceptedAt = at;
  }
  return repeats;
}

/**
 * Checks that a webhook was disabled only for a valid reason, and that the feed contains an event each time it was
 * disabled. Returns how often it was disabled.
 */
async function checkDisabled({ store, feed }: Proof, receiver: Receiver): Promise<number> {
  const { kind, seen, webhookId } = receiver;
  const { enabled } = await store.webhooks.get(webhookId);
  const disables = feed.disablesOf(receiver);
  const gone = [...seen.values()].flat().filter(({ status }) => status === 410).length;
  const what = `${kind.name}, ${gone} times gone: disabled`;
  if (kind.isDurable) same(what, `${disables} times, enabled ${enabled}`, '0 times, enabled true');
  else if (kind.name === 'always failing')
    same(what, `${disables} times, enabled ${enabled}`, '1 times, enabled false');
  else same(what, disables <= gone && (enabled || disables > 0), true);
  return disables;
}
