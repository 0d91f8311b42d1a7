import { type AdminServices, openAdminServices } from '../../app/app.ts';
import type { Config } from '../../config.ts';
import { isReversed } from '../../contract/admin/values.ts';
import { parseJson } from '../../contract/json.ts';
import type { Operation } from '../../contract/operation.ts';
import { Refusal } from '../../contract/refusal.ts';
import { PlanError } from '../../domain/plan.ts';
import { printable } from '../../domain/printable.ts';
import { performOnStore, type StoreOperationId } from '../../operations/admin/admin-operations.ts';
import { CommandError, messageOf, printLine, printSecret } from '../terminal.ts';
import { type ListOptions, printList } from './lists.ts';
import { type AdminRow, isList } from './members.ts';
import { effectOf, resultForms } from './results.ts';
import { textOf } from './shapes.ts';

type Values = Readonly<Record<string, unknown>>;

export interface RowInput {
  readonly params: Values;
  readonly query: Values;
  readonly body: Values;
}

export interface RunOptions extends Partial<ListOptions> {
  /** Whether the path parameter may be the name of an operator. */
  readonly byName?: 'operator';
  readonly file?: string;
  readonly force?: true;
  readonly nouns?: readonly [noun: string, nouns: string];
}

export async function runRow(
  config: Config,
  row: AdminRow,
  given: RowInput,
  options: RunOptions,
): Promise<void> {
  if (isReversed(given.query)) throw new CommandError('--until must not be before --since.', 2);
  if (options.file !== undefined) {
    const { exportLines } = await import('../files/export.ts');
    const { file, nouns = ['line', 'lines'] } = options;
    return await exportLines(config, file, options, nouns, (admin) => perform(admin, row, given));
  }
  await using admin = await openAdminServices(config);
  const params =
    options.byName === undefined ? given.params : { operatorId: await operatorId(admin, given.params) };
  const read = (query: Values) => perform(admin, row, { ...given, params, query });
  const form = resultForms[row.operationId];
  if (row.operationId === 'listKeys' || row.operationId === 'getKey') await checkKeys(admin, given.query);
  if (isList(row)) {
    const path = row.path.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name]));
    return await printList({ ...row, ...form, path, read }, given.query, options);
  }
  const outcome = await read(given.query);
  const json = row.success.json?.(outcome as never);
  const item = json === undefined ? params : parseJson(json);
  const removed = `{"id":${Object.values(params)[0]},"removed":true}`;
  const text = options.json
    ? printable(form?.json?.(item as never) ?? json ?? removed)
    : (form?.text?.(item as never, effectOf(admin.storage)) ?? textOf(row.success.schema, item));
  if (form?.remedyIfNotShown) await printSecret(text, form.remedyIfNotShown(item as never));
  else printLine(text);
  const failure = form?.failure?.(item as never);
  if (failure !== undefined) throw new CommandError(failure);
}

async function perform<Outcome>(
  admin: AdminServices,
  { operationId }: Operation,
  input: object,
): Promise<Outcome> {
  try {
    return (await performOnStore(admin, operationId as StoreOperationId, input as never)) as Outcome;
  } catch (error) {
    // Throws the cause, so that the command exits with code 2 (usage error).
    if (error instanceof Refusal && error.cause instanceof PlanError) throw error.cause;
    throw error;
  }
}

/** Finds an operator by id (a number) or by name. Names are unique among active operators. */
async function operatorId(admin: AdminServices, given: Values): Promise<bigint> {
  const operator = String(given.operatorId);
  if (/^\d{1,15}$/.test(operator)) return BigInt(operator);
  const active = (await admin.store.operators.list()).find(
    ({ name, revokedAt }) => name === operator && revokedAt === null,
  );
  if (active !== undefined) return BigInt(active.id);
  throw new CommandError(
    `There is no active operator named "${printable(operator)}". To list all: animal-store operators list`,
  );
}

/** Throws `account_not_found` for an unknown account. Warns if bans cannot be read, but still shows the keys. */
async function checkKeys({ accounts, keys }: AdminServices, { accountId }: Values): Promise<void> {
  if (accountId !== undefined) await accounts.find(Number(accountId));
  try {
    await keys.bannedIds();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    process.stderr.write(
      `animal-store: Cannot read bans, so the state of the keys is unknown. ${messageOf(error)}\n`,
    );
  }
}
