import type { HandlersOf } from './handlers.ts';
import type { SystemOperations } from './system-operations.ts';

/** What operations on the service itself need. */
export interface SystemServices {
  readonly system: SystemOperations;
}

type SystemIds = 'getOverview' | 'getSystem' | 'getLogging' | 'updateLogging';

export const systemHandlers: HandlersOf<SystemServices, SystemIds> = {
  getOverview: ({ system }) => system.overview(),
  getSystem: ({ system }) => system.system(),
  getLogging: ({ system }) => system.logging,
  updateLogging: ({ system }, { body }) => system.updateLogging(body),
};
