/** The webhook test of `npm run stress`, with few kills. */
import { test } from 'bun:test';
import { shopKinds } from '../stress/shop-places.ts';
import { receiverKinds } from '../stress/webhook-kinds.ts';
import { everyDelivery, webhookSettings } from '../stress/webhooks.ts';

const seed = 20_301_205;
const progress = () => undefined;
/**
 * False for the receiver that always fails. Its webhook is disabled only after ten attempts, each of which needs a
 * restart with the clock advanced.
 */
const isQuick = ({ name }: { name: string }) => name !== 'always failing';

test.each(shopKinds)(
  'every event reaches all its receivers, despite kill -9, $title',
  async ({ name, open }) => {
    await using place = await open(webhookSettings);
    if (place === undefined) return;
    const kinds = name === '' ? receiverKinds : receiverKinds.filter(isQuick);
    await everyDelivery(place, { rounds: 3, seed, progress }, kinds);
  },
);
