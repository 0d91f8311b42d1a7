import { openAdminServices } from '../app.ts';
import type { Config } from '../config.ts';
import { shownBan } from '../operations/shown.ts';
import { fromWhenOn } from './effect.ts';
import { instant, say, sayJson, table } from './terminal.ts';

export async function listBans(config: Config, { json }: { json?: true }): Promise<void> {
  await using admin = await openAdminServices(config);
  const bans = await admin.bans.list();
  // `until` is what it was called before there was an admin API.
  if (json) return sayJson(bans.map((ban) => ({ ...shownBan(ban), until: instant(ban.bannedUntil) })));
  if (bans.length === 0) return say('No keys are banned.');
  say(
    table(
      ['KEY', 'NAME', 'ACCOUNT', 'ACCOUNT NAME', 'UNTIL', 'LEVEL', 'REASON'],
      bans.map(({ keyId, keyName, accountId, accountName, bannedUntil, level, reason }) => [
        String(keyId),
        keyName,
        String(accountId),
        accountName,
        instant(bannedUntil),
        String(level),
        reason,
      ]),
    ),
  );
}

export async function liftBan(config: Config, keyId: number, { json }: { json?: true }): Promise<void> {
  await using admin = await openAdminServices(config);
  await admin.bans.lift(keyId);
  if (json) return sayJson({ keyId, lifted: true });
  say(`Lifted the ban on key ${keyId} and reset its strikes and ban level.${fromWhenOn(admin)}`);
}
