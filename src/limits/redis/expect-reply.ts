/**
 * Validates each script's reply. An unexpected reply means that replies are out of sync with requests, or that the
 * server is not Redis.
 */
import { resources } from '../../domain/resources.ts';
import { replyKinds, type ScriptName } from './scripts.ts';

type IsReply = (reply: unknown) => boolean;

const isNumber: IsReply = (value) => typeof value === 'number';
const areNumbers: IsReply = (value) => Array.isArray(value) && value.every(isNumber);
const numbers =
  (count: number): IsReply =>
  (value) =>
    areNumbers(value) && (value as unknown[]).length === count;
const areVersions = numbers(resources.length);

/** Alternating bans and end times. */
const areBans: IsReply = (value) => Array.isArray(value) && value.length % 2 === 0;

/** Reply kinds without limit state. */
const withoutState: ReadonlySet<unknown> = new Set([
  replyKinds.stale,
  replyKinds.unknown,
  replyKinds.overtaken,
]);
const decisions = [replyKinds.admitted, replyKinds.exhausted, replyKinds.banned, replyKinds.newly_banned];
const withState: ReadonlySet<unknown> = new Set(decisions);
/**
 * Lengths of replies with limit state. The reply to `take` omits the last two numbers if the instance knows them. The
 * reply to `standing` also contains the strike count.
 */
const stateLengths = { take: [11, 13], standing: [14] } as const;

const isStateOf =
  (lengths: readonly number[]): IsReply =>
  (reply) => {
    if (!Array.isArray(reply) || !areVersions(reply[1])) return false;
    if (withoutState.has(reply[0])) return reply.length === 2;
    const isCounted = (part: unknown, index: number) => index === 1 || isNumber(part);
    return withState.has(reply[0]) && lengths.includes(reply.length) && reply.every(isCounted);
  };

const isReply: Readonly<Record<ScriptName, IsReply>> = {
  take: isStateOf(stateLengths.take),
  standing: isStateOf(stateLengths.standing),
  refund: numbers(5),
  restore: isNumber,
  restoreBan: isNumber,
  fail: (reply) => reply === replyKinds.stale || numbers(4)(reply),
  versions: (reply) => Array.isArray(reply) && typeof reply[0] === 'string' && areNumbers(reply.slice(1)),
  announce: isNumber,
  bans: areBans,
  missingBans: areNumbers,
  unsaved: areBans,
  saved: isNumber,
  lift: isNumber,
  server: (reply) => typeof reply === 'string',
};

/** Returns the reply. Throws if it is not a valid reply from the script. */
export function expectReply(script: ScriptName, reply: unknown): unknown {
  if (!isReply[script](reply)) throw new Error(`unrecognized reply to ${script}`);
  return reply;
}
