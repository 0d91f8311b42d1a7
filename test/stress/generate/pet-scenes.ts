import { statusesAfter } from '../../../src/domain/pet-status.ts';
import { same } from '../failures.ts';
import { anyInt64 } from './integers.ts';
import { anyName } from './names.ts';
import { petText, type SentPet, statuses } from './requests.ts';
import { petMembers, type Stage } from './stage.ts';

export async function listPets(stage: Stage): Promise<void> {
  const { chance } = stage;
  const pets = [await stage.pet({ categoryId: chance.bits64() }), await stage.pet()];
  const { id, categoryId, status } = chance.pick(pets);
  const ids = chance.shuffled([...pets, { id: anyInt64(chance) | (1n << 62n) }]).map((pet) => pet.id);
  const named = chance.often(0.5);
  const query: [string, string][] = named
    ? [['id', ids.join(chance.pick([',', '%2C', '%2c']))]]
    : [['id', String(id)]];
  const sameCategory = chance.often(0.5);
  if (sameCategory) query.push(['categoryId', String(categoryId)]);
  const sameStatus = chance.often(0.5);
  if (sameStatus) query.push(['status', status]);
  const shown = pets.filter(
    (pet) =>
      (named || pet.id === id) &&
      (!sameCategory || pet.categoryId === categoryId) &&
      (!sameStatus || pet.status === status),
  );
  await stage.read('listPets', `[${shown.map((pet) => petText(pet.id, pet)).join(',')}]`, { query });
}

export async function getPet(stage: Stage): Promise<void> {
  const pet = await stage.pet();
  await stage.read('getPet', petText(pet.id, pet), { params: { petId: pet.id } });
}

export async function createPet(stage: Stage): Promise<void> {
  await stage.pet();
}

export async function updatePet(stage: Stage): Promise<void> {
  const { chance } = stage;
  const before = await stage.pet();
  const params = { petId: before.id };
  const status = chance.pick(
    statuses.filter((one) => one === before.status || mayBecome(before.status, one)),
  );
  const all: SentPet = { name: anyName(chance), categoryId: anyInt64(chance), status };
  const patch: Partial<SentPet> = Object.fromEntries(Object.entries(all).filter(() => chance.often(0.6)));
  const headers = stage.condition(before.etag) ?? [];
  const { text } = await stage.call('updatePet', 200, {
    params,
    members: petMembers(patch, chance),
    headers,
  });
  const after = { ...before, ...patch };
  same('the changed animal', text, petText(before.id, after));
  if (text !== petText(before.id, before)) {
    const tooLate = { params, headers: [['If-Match', before.etag] as const] };
    await stage.call('updatePet', 412, { ...tooLate, members: [] });
  }
  await stage.read('getPet', text, { params });
}

const mayBecome = (before: string, after: (typeof statuses)[number]) =>
  statusesAfter(before as typeof after).includes(after);

export async function deletePet(stage: Stage): Promise<void> {
  const { id, etag } = await stage.pet();
  const params = { petId: id };
  const { text } = await stage.call('deletePet', 204, { params, headers: stage.condition(etag) ?? [] });
  same('the body of a 204', text, '');
  await stage.call('deletePet', 404, { params });
  await stage.call('listPets', 200, { query: [['id', String(id)]] });
}

/** Of a category that no other scene has, so that its counts are known. */
export async function getInventory(stage: Stage): Promise<void> {
  const { chance } = stage;
  const counts = { available: 0, pending: 0, sold: 0 };
  const categoryId = chance.bits64();
  for (let left = chance.int(0, 3); left > 0; left--) {
    const status = chance.pick(statuses);
    counts[status]++;
    await stage.pet({ categoryId, status });
  }
  await stage.read('getInventory', JSON.stringify(counts), { query: [['categoryId', String(categoryId)]] });
  await stage.call('getInventory', 200);
}
