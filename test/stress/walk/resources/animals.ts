/** Animals in the model, also used by other resources. */
import { absentId, type RequestInputs } from '../scene.ts';
import type { Kind } from '../world.ts';

export const petStatuses = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof petStatuses)[number];

export interface Animal {
  readonly id: bigint;
  readonly name: string;
  readonly categoryId: bigint;
  readonly status: PetStatus;
}

export function petText({ id, name, categoryId, status }: Animal): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

export const animals: Kind<Animal> = { name: 'animals', textOf: petText };

/** The id of an animal. Occasionally, the animal has been deleted or never existed. */
export function petIdIn({ chance, scene: { world, gone } }: RequestInputs): bigint {
  const ids = [...world.all(animals).keys()];
  if (ids.length > 0 && chance.often(0.9)) return chance.pick(ids);
  return gone.size > 0 && chance.often(0.6) ? chance.pick([...gone]) : absentId(chance);
}
