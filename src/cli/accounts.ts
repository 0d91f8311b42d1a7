import { type AdminServices, openAdminServices } from '../app.ts';
import type { Config } from '../config.ts';
import type { Quota } from '../domain/plan.ts';
import { printable } from '../domain/printable.ts';
import type { AccountOperations } from '../operations/accounts.ts';
import { shownAccount, shownLimits } from '../operations/shown.ts';
import { fromWhenOn } from './effect.ts';
import { counted, grouped, instant, say, sayJson, table } from './terminal.ts';

type Account = Awaited<ReturnType<AccountOperations['create']>>;

interface Json {
  readonly json?: true;
}

export interface AccountOptions extends Partial<Quota>, Json {
  readonly name: string;
  readonly plan: string;
}

export async function createAccount(config: Config, { name, plan, json, ...quota }: AccountOptions) {
  await using admin = await openAdminServices(config);
  report(await admin.accounts.create(name, plan, quota), json);
}

export interface ListAccountsOptions extends Json {
  /** What the names begin with. */
  readonly name?: string;
  readonly state?: 'open' | 'closed';
}

export async function listAccounts(config: Config, { name, state, json }: ListAccountsOptions) {
  await using admin = await openAdminServices(config);
  const isClosed = state === undefined ? undefined : state === 'closed';
  const accounts = await Array.fromAsync(admin.accounts.all({ name, isClosed }));
  if (json) return sayJson(accounts.map(shownAccount));
  if (accounts.length === 0) return say('No accounts.');
  say(
    table(
      ['ID', 'NAME', 'PLAN', 'PER MINUTE', 'PER DAY', 'CREATED', 'STATE'],
      accounts.map(({ id, name, plan, quota: { perMinute, perDay }, createdAt, closedAt }) => [
        String(id),
        name,
        plan,
        grouped(perMinute),
        grouped(perDay),
        instant(createdAt),
        closedAt === null ? 'open' : 'closed',
      ]),
    ),
  );
}

export async function showAccount(config: Config, id: number, { json }: Json): Promise<void> {
  await using admin = await openAdminServices(config);
  report(await admin.accounts.find(id), json);
}

export async function renameAccount(config: Config, id: number, name: string, { json }: Json) {
  await using admin = await openAdminServices(config);
  report(await admin.accounts.rename(id, name), json);
}

export async function setPlan(
  config: Config,
  id: number,
  plan: string,
  { json, ...quota }: Partial<Quota> & Json,
): Promise<void> {
  await using admin = await openAdminServices(config);
  report(await admin.accounts.setPlan(id, plan, quota), json);
}

export async function closeAccount(config: Config, id: number, { json }: Json): Promise<void> {
  await using admin = await openAdminServices(config);
  const account = await admin.accounts.close(id);
  reportState(account, json, admin, 'Closed', 'Requests with its keys now get 401.');
}

export async function reopenAccount(config: Config, id: number, { json }: Json): Promise<void> {
  await using admin = await openAdminServices(config);
  const account = await admin.accounts.reopen(id);
  reportState(account, json, admin, 'Reopened', 'Its keys work again.');
}

/** What is used of both windows now. */
export async function showLimits(config: Config, id: number, { json }: Json): Promise<void> {
  await using admin = await openAdminServices(config);
  const limits = shownLimits(await admin.accounts.limits(id));
  if (json) return sayJson(limits);
  say(
    table(
      ['WINDOW', 'USED', 'LIMIT', 'RESETS'],
      (['minute', 'day'] as const).map((name) => {
        const { used, limit, resetAt } = limits[name];
        return [name, grouped(used), grouped(limit), resetAt === null ? '' : instant(Date.parse(resetAt))];
      }),
    ),
  );
}

function report(account: Account, json: true | undefined): void {
  if (json) {
    sayJson(shownAccount(account));
    return;
  }
  const { id, name, plan, quota, closedAt } = account;
  const [perMinute, perDay] = [counted(quota.perMinute, 'request'), grouped(quota.perDay)];
  const closed = closedAt === null ? '' : ` Closed since ${instant(closedAt)}.`;
  say(
    `Account ${id} (${printable(name)}), plan ${plan}: ${perMinute} per minute, ${perDay} per day.${closed}`,
  );
}

function reportState(
  account: Account,
  json: true | undefined,
  admin: AdminServices,
  done: string,
  effect: string,
): void {
  if (json) {
    sayJson(shownAccount(account));
    return;
  }
  say(`${done} account ${account.id} (${printable(account.name)}). ${effect}${fromWhenOn(admin)}`);
}
