import type { Actor } from '../../domain/actor.ts';
import type { Clock } from '../../domain/clock.ts';
import type { RandomBytes } from '../../domain/key.ts';
import { AccountOperations } from '../accounts.ts';
import { AuditOperations } from '../audit.ts';
import type { BackupOperations } from '../backups.ts';
import { BanOperations } from '../bans.ts';
import type { OperatorContext } from '../by-operator.ts';
import { ImportOperations } from '../imports.ts';
import { KeyOperations } from '../keys.ts';
import type { OperatorOnce } from '../operator-once.ts';
import { OperatorOperations } from '../operators.ts';
import type { Store } from '../units.ts';
import { UsageReports } from '../usage-reports.ts';
import type { ImportList } from './import-list.ts';
import type { SystemOperations } from './system-operations.ts';

/** The parts of the service that operators' operations work with. `src/admin.ts` puts them together. */
export interface AdminParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
}

/** What the process that serves operators has besides. */
export interface ServingParts extends AdminParts {
  readonly backups: BackupOperations;
  readonly system: SystemOperations;
  readonly importList: ImportList;
}

/** The same in the name of one operator: what is changed with them is recorded as theirs. */
export interface OperatorServices extends AdminParts, OperatorContext {
  readonly accounts: AccountOperations;
  readonly keys: KeyOperations;
  readonly bans: BanOperations;
  readonly operators: OperatorOperations;
  readonly imports: ImportOperations;
  readonly audit: AuditOperations;
  readonly usage: UsageReports;
}

export function servicesAs<Parts extends AdminParts>(
  parts: Parts,
  actor: Actor,
  once?: OperatorOnce,
): OperatorServices & Parts {
  const { store, clock, randomBytes } = parts;
  const context: OperatorContext = { store, clock, actor, once };
  return {
    ...parts,
    actor,
    once,
    accounts: new AccountOperations(context),
    keys: new KeyOperations(context, randomBytes),
    bans: new BanOperations(context),
    operators: new OperatorOperations(context, randomBytes),
    imports: new ImportOperations(context),
    audit: new AuditOperations(store),
    usage: new UsageReports(store, clock),
  };
}
