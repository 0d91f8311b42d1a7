/** Types that the package must declare. This program is only compiled, and never run. */
import {
  type AnimalStore,
  AnimalStoreError,
  type BannedError,
  type Call,
  type ConflictError,
  type Event,
  type EventsExpiredError,
  type InvalidRequestError,
  type NotFoundError,
  type Order,
  type Pet,
  type PetsImported,
  type RateLimitError,
  verifyWebhook,
} from '@animal-store/client';

/** True if two types are identical: `Same<Pet['id'], bigint>`. */
type Same<One, Other> =
  (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false;
declare function holds<_Claim extends true>(): void;

declare const store: AnimalStore;

holds<Same<Pet['id'], bigint>>();
holds<Same<Pet['categoryId'], bigint>>();
holds<Same<Order['petId'], bigint>>();
holds<Same<Awaited<ReturnType<typeof store.pets.create>>, Pet>>();
holds<Same<Awaited<ReturnType<typeof store.pets.update>>, Pet | undefined>>();
holds<Same<Awaited<ReturnType<typeof store.pets.updateWith>>, Pet>>();
holds<Same<Awaited<ReturnType<typeof store.orders.deliver>>, Order | undefined>>();
holds<Same<Awaited<ReturnType<typeof store.pets.delete>>, void>>();
holds<Same<Pet['status'], 'available' | 'pending' | 'sold'>>();
holds<Same<Order['reference'], string | undefined>>();

export async function right(): Promise<void> {
  for await (const pet of store.pets.list({ status: 'sold', categoryId: 7n, limit: 100 }))
    holds<Same<typeof pet, Pet>>();
  for await (const page of store.pets.list().pages()) holds<Same<typeof page.data, readonly Pet[]>>();
  for await (const event of store.events.follow({ after: 0n, types: ['pet.*', 'order.placed'] })) {
    holds<Same<typeof event, Event>>();
    holds<Same<typeof event.id, bigint>>();
    if (event.type === 'pet.deleted') holds<Same<typeof event.data, Pet>>();
    if (event.type === 'order.placed') holds<Same<typeof event.data, Order>>();
    if (event.type === 'pets.imported') holds<Same<typeof event.data, PetsImported>>();
  }
  const { next } = await store.events.list({ after: 7, type: ['category.*'], wait: 30, limit: 10 });
  holds<Same<typeof next, bigint>>();
  const delivered = await verifyWebhook('whsec_', new Headers(), new Uint8Array());
  if (delivered.type !== 'webhook.test') holds<Same<typeof delivered, Event>>();
  const call: Call<Pet> = store.pets.create({ name: 'Ozzy', categoryId: 1 });
  const { data, rateLimit } = await call.withResponse();
  holds<Same<typeof data, Pet>>();
  holds<Same<NonNullable<typeof rateLimit>['minute']['remaining'], number>>();
}

export function codesNarrow(error: unknown): void {
  if (!(error instanceof AnimalStoreError)) return;
  switch (error.code) {
    case 'rate_limit_exceeded':
      holds<Same<typeof error, RateLimitError>>();
      break;
    case 'api_key_banned':
      holds<Same<typeof error, BannedError>>();
      break;
    case 'events_expired':
      holds<Same<typeof error, EventsExpiredError>>();
      break;
    case 'pet_not_found':
      holds<Same<typeof error, NotFoundError>>();
      break;
    case 'invalid_body':
      holds<Same<typeof error, InvalidRequestError>>();
      break;
    case 'pet_not_available':
      holds<Same<typeof error, ConflictError>>();
      break;
  }
}
