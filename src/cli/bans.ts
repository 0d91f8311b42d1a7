import { openAdminServices } from '../app.ts';
import type { Config } from '../config.ts';
import { fromWhenOn } from './effect.ts';
import { instant, say, sayJson, table } from './terminal.ts';

export async function listBans(config: Config, { json }: { json?: true }): Promise<void> {
  await using admin = await openAdminServices(config);
  const accountIds = new Map((await admin.keys.list()).map(({ id, accountId }) => [id, accountId]));
  const bans = (await admin.keys.bans()).map(({ keyId, bannedUntil, level }) => ({
    keyId,
    accountId: accountIds.get(keyId) ?? null,
    until: instant(bannedUntil * 1_000),
    level,
  }));
  if (json) return sayJson(bans);
  if (bans.length === 0) return say('No keys are banned.');
  say(
    table(
      ['KEY', 'ACCOUNT', 'UNTIL', 'LEVEL'],
      bans.map(({ keyId, accountId, until, level }) => [
        String(keyId),
        String(accountId ?? ''),
        until,
        String(level),
      ]),
    ),
  );
}

export async function liftBan(config: Config, keyId: number, { json }: { json?: true }): Promise<void> {
  await using admin = await openAdminServices(config);
  await admin.keys.liftBan(keyId);
  if (json) return sayJson({ keyId, lifted: true });
  say(`Lifted the ban on key ${keyId} and reset its strikes and ban level.${fromWhenOn(admin)}`);
}
