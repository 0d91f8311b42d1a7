import { type AdminServices, openAdminServices } from '../../app/app.ts';
import type { Config } from '../../config.ts';
import { hasReversedRange } from '../../contract/admin/values.ts';
import { ApiError } from '../../contract/api-error.ts';
import { encodeCursor, encodeFilters, type ListQuery } from '../../contract/cursor.ts';
import { parseJson } from '../../contract/json.ts';
import type { Operation, Page } from '../../contract/operation.ts';
import { pageLimit } from '../../contract/values.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import { escapeUnprintable } from '../../domain/escape-unprintable.ts';
import { PlanError } from '../../domain/plan.ts';
import { performOnStore, type StoreOperationId } from '../../operations/admin/admin-operations.ts';
import { expectNumericId } from '../../operations/admin/ids.ts';
import {
  CommandError,
  errorMessage,
  isBrokenPipe,
  PagedTable,
  printLine,
  printSecret,
  writeOutput,
} from '../terminal.ts';
import { type AdminOperation, returnsList } from './input-fields.ts';
import { formatItem, tableFor } from './item-formats.ts';
import { describeEffect, describeRemoval, resultMessages } from './result-messages.ts';

type Values = Readonly<Record<string, unknown>>;

interface CommandInput {
  readonly params: Values;
  readonly query: Values;
  readonly body: Values;
}

interface RunOptions extends Partial<ListOptions> {
  /** Whether the path parameter may be the name of an operator. */
  readonly byName?: 'operator';
  readonly file?: string;
  readonly force?: true;
  readonly nouns?: readonly [noun: string, nouns: string];
}

export async function runOperation(
  config: Config,
  row: AdminOperation,
  given: CommandInput,
  options: RunOptions,
): Promise<void> {
  if (hasReversedRange(given.query)) throw new CommandError('--until must not be before --since.', 2);
  if (options.file !== undefined) {
    const { exportLines } = await import('../files/export.ts');
    const { file, nouns = ['line', 'lines'] } = options;
    return await exportLines(config, file, options, nouns, (admin) => perform(admin, row, given));
  }
  await using admin = await openAdminServices(config);
  const params =
    options.byName === undefined ? given.params : { operatorId: await findOperatorId(admin, given.params) };
  const read = (query: Values) => perform(admin, row, { ...given, params, query });
  const form = resultMessages[row.operationId];
  if (row.operationId === 'listKeys' || row.operationId === 'getKey') await checkKeys(admin, given.query);
  if (returnsList(row)) {
    const path = row.path.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name]));
    return await printList({ ...row, ...form, path, read }, given.query, options);
  }
  const outcome = await read(given.query);
  const json = row.success.json?.(outcome as never);
  const item = json === undefined ? params : parseJson(json);
  const removal = describeRemoval(params);
  const text = options.json
    ? escapeUnprintable(form?.json?.(item as never) ?? json ?? removal.json)
    : (form?.text?.(item as never, describeEffect(admin.storage)) ??
      (json === undefined ? removal.text : formatItem(row.success.schema, item)));
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
    if (error instanceof ApiError && error.cause instanceof PlanError) throw error.cause;
    throw error;
  }
}

/** Finds an operator by id (a number) or by name. Names are unique among active operators. */
async function findOperatorId(admin: AdminServices, given: Values): Promise<bigint> {
  const operator = String(given.operatorId);
  if (/^\d{1,15}$/.test(operator)) return BigInt(operator);
  const active = (await admin.store.operators.list()).find(
    ({ name, revokedAt }) => name === operator && revokedAt === null,
  );
  if (active !== undefined) return BigInt(active.id);
  throw new CommandError(
    `There is no active operator named "${escapeUnprintable(operator)}". To list all: animal-store operators list`,
  );
}

/** Throws `account_not_found` for an unknown account. Warns if bans cannot be read, but still shows the keys. */
async function checkKeys({ accounts, keys }: AdminServices, { accountId }: Values): Promise<void> {
  if (typeof accountId === 'bigint') await accounts.find(expectNumericId(accountId, 'account_not_found'));
  try {
    await keys.bannedIds();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    process.stderr.write(
      `animal-store: Cannot read bans, so the state of the keys is unknown. ${errorMessage(error)}\n`,
    );
  }
}

interface ListOptions {
  /** Maximum number of items. */
  readonly limit: number | 'all';
  readonly after: bigint;
  readonly json: true | undefined;
  /** Text to print for an empty list. Defaults to the text in the shape. */
  readonly emptyText: string;
  readonly firstTitle: string;
}

interface Listing extends Pick<Operation, 'path' | 'success' | 'paginated'> {
  readonly read: (query: ListQuery) => Awaitable<unknown>;
  /** Formats an item as JSON. Defaults to the API's format. */
  readonly json?: (item: never) => string;
}

/** Prints a list as a table or as one line of JSON. Stops if the reader closes the pipe. */
async function printList(listing: Listing, filters: ListQuery, options: Partial<ListOptions>): Promise<void> {
  const pages = readPages(listing, filters, options);
  try {
    if (options.json) await printJson(pages, listing);
    else await printTable(pages, listing, options);
  } catch (error) {
    if (!isBrokenPipe(error)) throw error;
  }
}

interface Part {
  readonly json: string;
  readonly hasMore: boolean;
}

async function* readPages(
  { path, success, paginated, read }: Listing,
  filters: ListQuery,
  { limit = 'all', after }: Partial<ListOptions>,
): AsyncGenerator<Part> {
  const jsonOf = (outcome: unknown) => success.json?.(outcome as never).slice(1, -1) ?? '';
  if (!paginated) return yield { json: jsonOf(await read(filters)), hasMore: false };
  let left = limit === 'all' ? Number.POSITIVE_INFINITY : limit;
  let cursor =
    after === undefined ? undefined : encodeCursor({ filters: encodeFilters(path, filters), after });
  do {
    const page = (await read({ ...filters, limit: Math.min(left, pageLimit.max), cursor })) as Page<unknown>;
    yield { json: jsonOf(page), hasMore: page.next !== undefined };
    left -= page.items.length;
    cursor = page.next;
  } while (left > 0 && cursor !== undefined);
}

const parseItems = (json: string) => parseJson(`[${json}]`) as { readonly id: bigint }[];

async function printJson(pages: AsyncIterable<Part>, { json: itemJson }: Listing): Promise<void> {
  let before = '[';
  for await (const { json } of pages) {
    if (json === '') continue;
    await writeOutput(
      `${before}${escapeUnprintable(
        itemJson === undefined
          ? json
          : parseItems(json)
              .map((item) => itemJson(item as never))
              .join(','),
      )}`,
    );
    before = ',';
  }
  await writeOutput(before === '[' ? '[]\n' : ']\n');
}

async function printTable(
  pages: AsyncIterable<Part>,
  { success }: Listing,
  { emptyText, firstTitle }: Partial<ListOptions>,
): Promise<void> {
  const { header, row, emptyText: defaultEmptyText } = tableFor(success.schema);
  const [firstOfShape = '', ...titles] = header;
  const lines = new PagedTable([firstTitle ?? firstOfShape, ...titles]);
  let last: { readonly id: bigint } | undefined;
  let moreFollow = false;
  for await (const { json, hasMore } of pages) {
    const items = parseItems(json);
    if (items.length > 0) await writeOutput(`${lines.add(items.map(row))}\n`);
    last = items.at(-1) ?? last;
    moreFollow = hasMore;
  }
  if (last === undefined) printLine(emptyText ?? defaultEmptyText);
  // Printed to standard error, because standard output contains only the list.
  else if (moreFollow) process.stderr.write(`More items follow: add --after ${last.id}, or --limit all.\n`);
}
