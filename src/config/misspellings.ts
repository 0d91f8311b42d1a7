/** Finds variables that are probably misspelled settings. */

/** Returns the setting that an unknown name is a misspelling of. */
export function findMisspelledSetting(found: string, settingNames: readonly string[]): string | undefined {
  if (settingNames.includes(found)) return undefined;
  return settingNames.find((known) => editDistance(found.toUpperCase(), known) <= maxEdits(known));
}

/**
 * Allows only one edit in short names, because unrelated short names are often similar: HOST and HOME, and WORKERS and
 * BROKERS, differ by two edits.
 */
function maxEdits({ length }: string): number {
  if (length > 12) return 3;
  return length > 9 ? 2 : 1;
}

/** Returns the name with the fewest edits, at most two. */
export function findNearest(found: string, names: readonly string[]): string | undefined {
  const edits = names.map((name) => ({ name, distance: editDistance(found, name) }));
  return edits.sort((a, b) => a.distance - b.distance).find(({ distance }) => distance <= 2)?.name;
}

/** First words of settings that are also common in the settings of other programs. */
const genericPrefixes = ['DATABASE', 'OPERATOR', 'POSTGRES', 'REDIS'];

/**
 * Returns a warning for each variable that resembles a setting: a misspelling, or a name that shares its first word
 * with several settings. These are not errors, because other programs may use the same environment.
 */
export function findResemblingVariables(
  environment: Readonly<Record<string, string | undefined>>,
  settingNames: readonly string[],
): string[] {
  return Object.entries(environment).flatMap(([name, value]) => {
    if (settingNames.includes(name) || isServiceLink(name, value)) return [];
    const meant = findMisspelledSetting(name, settingNames);
    const similar = meant === undefined ? relatedSettings(name, settingNames) : [meant];
    if (similar.length === 0) return [];
    return [`The environment variable ${name} is not a setting. Similar settings: ${similar.join(', ')}.`];
  });
}

function relatedSettings(name: string, settingNames: readonly string[]): string[] {
  const [word = '', ...more] = name.toUpperCase().split('_');
  const related = settingNames.filter((known) => known.startsWith(`${word}_`));
  return more.length > 0 && related.length > 1 && !genericPrefixes.includes(word) ? related : [];
}

/** Kubernetes sets such variables for each Service in the namespace; a Service may be named "backup". */
function isServiceLink(name: string, value = ''): boolean {
  return (
    /_SERVICE_(?:HOST|PORT(?:_\w+)?)$|_PORT_\d+_(?:TCP|UDP|SCTP)/.test(name) ||
    /^(?:tcp|udp|sctp):\/\//.test(value)
  );
}

/** Counts insertions, deletions, substitutions and transpositions (optimal string alignment). */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const [above, before] = [rows[i - 1], rows[i - 2]];
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        (above?.[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (above?.[j - 1] ?? 0) + cost,
        isSwap ? (before?.[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    rows.push(row);
  }
  return rows.at(-1)?.at(-1) ?? 0;
}
