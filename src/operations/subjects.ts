import { categoryJson } from '../contract/categories.ts';
import { orderJson } from '../contract/orders.ts';
import { petJson } from '../contract/pets.ts';
import type { Transaction } from '../storage/transaction.ts';
import { shownAccount, shownOperator, storedKey } from './shown.ts';
import type { AuditedName } from './units.ts';

type Id = number | bigint;

/** What a unit of work changes, for the audit log. */
export interface Subject {
  readonly kind: 'account' | 'key' | 'operator' | 'pet' | 'order' | 'category';
  /** Which one it is called for; undefined when it makes one. */
  readonly of: (input: unknown) => Id | undefined;
  /** Which one it has made; undefined when it made none. */
  readonly made: (outcome: unknown) => Id | undefined;
  /** Whether it is recorded also when it shows no change. */
  readonly always?: true;
  /** It as JSON, without secrets; `null` when it is not there. */
  readonly read: (transaction: Transaction, id: Id) => Promise<string | null>;
}

type Read = Subject['read'];

const made = (outcome: unknown) => (outcome as { readonly id: Id } | undefined)?.id;

const making = (kind: Subject['kind'], read: Read): Subject => ({ kind, of: () => undefined, made, read });

const changing = (kind: Subject['kind'], read: Read, of: Subject['of']): Subject => ({
  kind,
  of,
  made,
  read,
});

/** Those whose input has the id by itself. */
const byId = (kind: Subject['kind'], read: Read) =>
  changing(kind, read, (input) => (input as { readonly id: Id }).id);

/** Those that clients have, too: their input has the parameters of the path. */
const byParam = (kind: Subject['kind'], read: Read, name: string) =>
  changing(kind, read, (input) => (input as { readonly params: Record<string, Id> }).params[name]);

/** The thing as JSON; `null` when it is not there. */
const text = <T>(found: T | undefined, json: (thing: T) => string) =>
  found === undefined ? null : json(found);

const account: Read = async ({ accounts }, id) =>
  text(await accounts.find(Number(id)), (found) => JSON.stringify(shownAccount(found)));
const key: Read = async ({ keys }, id) =>
  text(await keys.find(Number(id)), (found) => JSON.stringify(storedKey(found)));
const operator: Read = async ({ operators }, id) =>
  text(await operators.find(Number(id)), (found) => JSON.stringify(shownOperator(found)));
const pet: Read = async ({ pets }, id) => text(await pets.find(BigInt(id)), petJson);
const order: Read = async ({ orders }, id) => text(await orders.find(BigInt(id)), orderJson);
const category: Read = async ({ categories }, id) => text(await categories.find(BigInt(id)), categoryJson);

/** What each change that an operator may make is done to, by its unit of work. */
export const subjects: Readonly<Record<AuditedName, Subject>> = {
  createAccount: making('account', account),
  updateAccount: byId('account', account),
  closeAccount: byId('account', account),
  reopenAccount: byId('account', account),
  createKey: making('key', key),
  rotateKey: changing('key', key, (input) => (input as { readonly oldId: number }).oldId),
  revokeKey: byId('key', key),
  setKeyScopes: byId('key', key),
  createOperator: making('operator', operator),
  // A new token may by chance end like the old one, of which no more is shown.
  rotateOperator: { ...byId('operator', operator), always: true },
  revokeOperator: byId('operator', operator),
  createPet: making('pet', pet),
  updatePet: byParam('pet', pet, 'petId'),
  deletePet: byParam('pet', pet, 'petId'),
  placeOrder: making('order', order),
  approveOrder: byParam('order', order, 'orderId'),
  deliverOrder: byParam('order', order, 'orderId'),
  cancelOrder: byParam('order', order, 'orderId'),
  returnOrder: byParam('order', order, 'orderId'),
  putCategory: byParam('category', category, 'categoryId'),
  deleteCategory: byParam('category', category, 'categoryId'),
};
