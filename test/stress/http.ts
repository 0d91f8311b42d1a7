/** The stress tests about what clients and attackers can send. */
import { bans } from './bans.ts';
import { hostile } from './hostile-json.ts';
import { invalid } from './invalid.ts';
import { limitBursts } from './limit-concurrency.ts';
import { limitLaw } from './limit-model.ts';
import { overloaded } from './overload.ts';
import { attacks } from './raw-attacks.ts';
import { secrets } from './secrets.ts';
import { slow } from './slow-clients.ts';
import type { StressTest } from './stress-test.ts';

export const httpTests: readonly StressTest[] = [
  invalid,
  hostile,
  attacks,
  slow,
  limitLaw,
  limitBursts,
  bans,
  overloaded,
  secrets,
];
