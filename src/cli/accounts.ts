import { openAdminServices } from '../app.ts';
import type { Config } from '../config.ts';
import type { Quota } from '../domain/plan.ts';
import type { AccountOperations } from '../operations/accounts.ts';
import { grouped, instant, printable, say, sayJson, table } from './terminal.ts';

type Account = Awaited<ReturnType<AccountOperations['create']>>;

export interface AccountOptions extends Partial<Quota> {
  readonly name: string;
  readonly plan: string;
  readonly json?: true;
}

export async function createAccount(config: Config, { name, plan, json, ...quota }: AccountOptions) {
  await using admin = await openAdminServices(config);
  report(await admin.accounts.create(name, plan, quota), json);
}

export async function listAccounts(config: Config, { json }: { json?: true }): Promise<void> {
  await using admin = await openAdminServices(config);
  const accounts = await admin.accounts.list();
  if (json) return sayJson(accounts.map(shownToMachines));
  say(
    table(
      ['ID', 'NAME', 'PLAN', 'PER MINUTE', 'PER DAY', 'CREATED'],
      accounts.map(({ id, name, plan, quota: { perMinute, perDay }, createdAt }) => [
        String(id),
        name,
        plan,
        grouped(perMinute),
        grouped(perDay),
        instant(createdAt),
      ]),
    ),
  );
}

export async function setPlan(
  config: Config,
  id: number,
  plan: string,
  { json, ...quota }: Partial<Quota> & { json?: true },
): Promise<void> {
  await using admin = await openAdminServices(config);
  report(await admin.accounts.setPlan(id, plan, quota), json);
}

function report(account: Account, json: true | undefined): void {
  const { id, name, plan, quota } = account;
  const [perMinute, perDay] = [grouped(quota.perMinute), grouped(quota.perDay)];
  if (json) sayJson(shownToMachines(account));
  else
    say(
      `Account ${id} (${printable(name)}), plan ${plan}: ${perMinute} requests per minute, ${perDay} per day.`,
    );
}

function shownToMachines({ id, name, plan, quota: { perMinute, perDay }, createdAt }: Account) {
  return { id, name, plan, perMinute, perDay, createdAt: new Date(createdAt).toISOString() };
}
