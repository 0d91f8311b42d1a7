/** What generated scenes play on: a service, one request after the other, each answer checked. */
import type { OperationId } from '../../../src/contract/operations.ts';
import { same } from '../failures.ts';
import type { WireResponse } from '../wire.ts';
import type { Chance } from './chance.ts';
import type { HttpRequest } from './http.ts';
import { anyInt64, spelled } from './integers.ts';
import { anyName, jsonString } from './names.ts';
import { type Particulars, requestOf } from './request-of.ts';
import { type Known, petText, type SentPet, statuses } from './requests.ts';

/** Sends a request, and checks its answer against the contract. */
export type Send = (request: HttpRequest) => Promise<WireResponse>;

export interface StoredPet extends SentPet {
  readonly id: bigint;
  readonly etag: string;
}

/** In each key, for cases that were chosen apart may make the same choices. */
let keysMade = 0;

export class Stage {
  readonly chance: Chance;
  readonly #known: Known;
  readonly #send: Send;

  constructor(chance: Chance, known: Known, send: Send) {
    this.chance = chance;
    this.#known = known;
    this.#send = send;
  }

  /** A request that has to be answered with this status. */
  async call(operationId: OperationId, status: number, particulars?: Particulars): Promise<WireResponse> {
    const request = requestOf(operationId, this.chance, this.#known, particulars);
    const response = await this.#send(request);
    if (response.status !== status) {
      throw new Error(`${operationId} is answered ${response.status}, not ${status}: ${response.text}`);
    }
    return response;
  }

  /** A POST that is sometimes sent under an Idempotency-Key, and then sometimes once more. */
  async post(operationId: OperationId, status: number, particulars: Particulars): Promise<WireResponse> {
    if (this.chance.often(0.5)) return this.call(operationId, status, particulars);
    const word = `${++keysMade}/${this.chance.bits64()}~`;
    const field = ['Idempotency-Key', this.chance.often(0.5) ? word : `"${word}"`] as const;
    const headers = [...(particulars.headers ?? []), field];
    const request = requestOf(operationId, this.chance, this.#known, { ...particulars, headers });
    const response = await this.#send(request);
    same(`the status of ${operationId}`, response.status, status);
    same('Idempotent-Replayed', response.headers.get('idempotent-replayed'), null);
    if (this.chance.often(0.5)) return response;
    const again = await this.#send(request);
    same('the status of a repetition', again.status, status);
    same('Idempotent-Replayed', again.headers.get('idempotent-replayed'), 'true');
    same('the answer to a repetition', again.text, response.text);
    return again;
  }

  /** A representation that has to be this; it is not sent again to whoever has it. */
  async read(operationId: OperationId, text: string, particulars: Particulars): Promise<void> {
    const response = await this.call(operationId, 200, particulars);
    same(operationId, response.text, text);
    const etag = response.headers.get('etag') ?? '';
    const held = this.chance.pick([etag, `W/${etag}`, `"other", ${etag}`, '*']);
    const again = await this.call(operationId, 304, { ...particulars, headers: [['If-None-Match', held]] });
    same('the body of a 304', again.text, '');
    same('the ETag of a 304', again.headers.get('etag'), etag);
  }

  /** A condition that the resource meets, or none. */
  condition(etag: string): Particulars['headers'] {
    const held = this.chance.pick([undefined, etag, '*', `"other", ${etag}`]);
    return held === undefined ? [] : [['If-Match', held]];
  }

  /** An animal that no other scene knows. */
  async pet(given: Partial<SentPet> = {}): Promise<StoredPet> {
    const { chance } = this;
    const pet: SentPet = {
      name: anyName(chance),
      categoryId: anyInt64(chance),
      status: chance.pick(statuses),
      ...given,
    };
    const { text, headers } = await this.post('createPet', 201, { members: petMembers(pet, chance) });
    const id = BigInt(/^\{"id":(\d+),/.exec(text)?.[1] ?? -1);
    same('the new animal', text, petText(id, pet));
    same('its Location', headers.get('location'), `/v1/pets/${id}`);
    return { ...pet, id, etag: headers.get('etag') ?? '' };
  }
}

export function petMembers(pet: Partial<SentPet>, chance: Chance): [string, string][] {
  const members: [string, string][] = [];
  if (pet.name !== undefined) members.push(['name', jsonString(pet.name, chance)]);
  if (pet.categoryId !== undefined) members.push(['categoryId', spelled(pet.categoryId, chance)]);
  if (pet.status !== undefined) members.push(['status', jsonString(pet.status, chance)]);
  return members;
}
