import { shown } from './values.ts';

/** A setting as it may be shown to operators. */
export interface ShownSetting {
  readonly name: string;
  /** Without passwords. */
  readonly value: string;
  readonly source: 'default' | 'environment';
  readonly about: string;
}

interface Setting {
  readonly default: string;
  readonly about: string;
}

/** The settings of a table as the environment has them. */
export function shownSettings(
  settings: Readonly<Record<string, Setting>>,
  environment: Readonly<Record<string, string | undefined>>,
): ShownSetting[] {
  return Object.entries(settings).map(([name, { default: unlessSet, about }]) => {
    const set = environment[name]?.trim();
    const source = set ? 'environment' : 'default';
    return { name, value: shown(set || unlessSet, name), source, about };
  });
}
