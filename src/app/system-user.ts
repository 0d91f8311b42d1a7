import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';

/** Name or uid of the user that runs this program. Not read from the environment, which can be forged. */
export function systemUser(): string {
  const uid = process.getuid?.();
  return uid === undefined ? userInfo().username : (nameOf(uid) ?? String(uid));
}

/** Undefined if the user is not in `/etc/passwd`, as on macOS or with a directory service. */
function nameOf(uid: number): string | undefined {
  try {
    const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
    return lines.map((line) => line.split(':')).find(([, , id]) => id === String(uid))?.[0];
  } catch {
    return undefined;
  }
}
