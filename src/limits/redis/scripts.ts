import { resources } from '../../domain/resources.ts';
import { type BanRules, daySeconds, minuteSeconds } from '../limit.ts';
import announce from './scripts/announce.lua' with { type: 'text' };
import bans from './scripts/bans.lua' with { type: 'text' };
import common from './scripts/common.lua' with { type: 'text' };
import fail from './scripts/fail.lua' with { type: 'text' };
import lift from './scripts/lift.lua' with { type: 'text' };
import missingBans from './scripts/missing-bans.lua' with { type: 'text' };
import refund from './scripts/refund.lua' with { type: 'text' };
import restore from './scripts/restore.lua' with { type: 'text' };
import restoreBan from './scripts/restore-ban.lua' with { type: 'text' };
import saved from './scripts/saved.lua' with { type: 'text' };
import server from './scripts/server.lua' with { type: 'text' };
import standing from './scripts/standing.lua' with { type: 'text' };
import take from './scripts/take.lua' with { type: 'text' };
import unsaved from './scripts/unsaved.lua' with { type: 'text' };
import versions from './scripts/versions.lua' with { type: 'text' };

const sources = {
  take,
  standing,
  refund,
  restore,
  restoreBan,
  fail,
  versions,
  announce,
  bans,
  missingBans,
  unsaved,
  saved,
  lift,
  server,
};

export type ScriptName = keyof typeof sources;

/** First element of the reply to `take` and `standing`: the decision, or the reason why there is no decision. */
export const replyKinds = {
  admitted: 0,
  exhausted: 1,
  banned: 2,
  newly_banned: 3,
  stale: 4,
  unknown: 5,
  overtaken: 6,
} as const;

/** Returns the text of every script, with constants replaced by their values. */
export function buildScripts(ban: BanRules): ReadonlyMap<ScriptName, string> {
  const constants: Readonly<Record<string, number>> = {
    'resources.count': resources.length,
    'rules.minute': minuteSeconds,
    'rules.day': daySeconds,
    'rules.strikes': ban.strikes,
    'rules.within': ban.withinSeconds,
    'rules.first_ban': ban.firstBanSeconds,
    'rules.longest_ban': ban.longestBanSeconds,
    'rules.forgiven_after': ban.forgivenAfterSeconds,
    ...Object.fromEntries(Object.entries(replyKinds).map(([name, value]) => [`replyKinds.${name}`, value])),
  };
  const written = (source: string) =>
    `${common}\n${source}`.replace(/\b(?:rules|replyKinds|resources)\.\w+/g, (name) =>
      String(constants[name]),
    );
  return new Map(Object.entries(sources).map(([name, source]) => [name as ScriptName, written(source)]));
}
