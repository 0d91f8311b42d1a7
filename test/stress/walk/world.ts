/** The store as the walk's model has it: plain maps, written from what the contract says and from nothing else. */

export const petStatuses = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof petStatuses)[number];
export const orderStatuses = ['placed', 'approved', 'delivered', 'returned', 'cancelled'] as const;
export type OrderStatus = (typeof orderStatuses)[number];

export interface Animal {
  readonly id: bigint;
  readonly name: string;
  readonly categoryId: bigint;
  readonly status: PetStatus;
}

export interface Order {
  readonly id: bigint;
  readonly petId: bigint;
  readonly status: OrderStatus;
  readonly reference: string | undefined;
  /** As the service wrote them: times are its own choice. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** What a model expects of an answer. */
export interface Outcome {
  readonly status: number;
  /** The body to the byte; undefined where `matches` judges it, or it is an error's. */
  readonly text?: string;
  /** What is wrong with a body that the model does not know to the byte. */
  readonly matches?: (text: string, hasNext: boolean) => string | undefined;
  readonly location?: string;
  /** Of a page: the query its links repeat, and whether there is a next one; undefined: either. */
  readonly page?: { readonly query: string; readonly hasNext: boolean | undefined };
  readonly isReplayed?: true;
  /** Of a page: how a filter that is ignored would show in it. */
  readonly ways?: readonly string[];
  /** Of an error: its code, words its message must have, and what its details blame. */
  readonly error?: {
    readonly code: string;
    readonly mentions?: readonly string[];
    readonly blames?: readonly string[];
    /** Headers of this error. */
    readonly headers?: Readonly<Record<string, string>>;
  };
}

/** A refusal with 400 that blames one part of the request. */
export function blaming(code: string, part: string): Outcome {
  return { status: 400, error: { code, blames: [part] } };
}

/** What a success answered under an `Idempotency-Key`. */
export interface Kept {
  readonly request: string;
  readonly outcome: Outcome;
}

/** A part of the store that others do not change, or all of it. */
export class World {
  readonly animals: Map<bigint, Animal>;
  readonly orders: Map<bigint, Order>;
  readonly categories: Map<bigint, string>;
  readonly kept: Map<string, Kept>;

  constructor(from?: World) {
    this.animals = new Map(from?.animals);
    this.orders = new Map(from?.orders);
    this.categories = new Map(from?.categories);
    this.kept = new Map(from?.kept);
  }

  openOrderOf(petId: bigint): Order | undefined {
    return this.orders.values().find((order) => order.petId === petId && isOpen(order.status));
  }

  /** Takes over all that another has, but its kept answers. */
  absorb({ animals, orders, categories }: World): void {
    for (const [id, animal] of animals) this.animals.set(id, animal);
    for (const [id, order] of orders) this.orders.set(id, order);
    for (const [id, name] of categories) this.categories.set(id, name);
  }

  /** The same for worlds that are the same. */
  fingerprint(): string {
    const animals = [...this.animals.values()].map(petText);
    const orders = [...this.orders.values()].map(orderText);
    const categories = [...this.categories].map(categoryText);
    return [animals, orders, categories, [...this.kept.keys()]].map((part) => part.sort().join()).join('|');
  }
}

/** Whether an order in this status holds its animal. */
export function isOpen(status: OrderStatus): boolean {
  return status === 'placed' || status === 'approved';
}

export function petText({ id, name, categoryId, status }: Animal): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

export function orderText({ id, petId, status, reference, createdAt, updatedAt }: Order): string {
  const named = reference === undefined ? '' : `"reference":${JSON.stringify(reference)},`;
  return `{"id":${id},"petId":${petId},"status":"${status}",${named}"createdAt":"${createdAt}","updatedAt":"${updatedAt}"}`;
}

export function categoryText([id, name]: readonly [bigint, string]): string {
  return `{"id":${id},"name":${JSON.stringify(name)}}`;
}

/** How many animals there are in each status, as the inventory says it. */
export function inventoryText(animals: Iterable<Animal>): string {
  const counts = { available: 0, pending: 0, sold: 0 };
  for (const { status } of animals) counts[status]++;
  return JSON.stringify(counts);
}

/** Things by ascending id. */
export function ascending<Thing extends { readonly id: bigint }>(things: Iterable<Thing>): Thing[] {
  return [...things].sort((one, other) => (one.id < other.id ? -1 : 1));
}
