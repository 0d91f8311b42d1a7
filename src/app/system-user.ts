import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';

/** The user who runs this program, by name or else by number. Never read from the environment, which anybody can set. */
export function systemUser(): string {
  const uid = process.getuid?.();
  return uid === undefined ? userInfo().username : (nameOf(uid) ?? String(uid));
}

/** Undefined where the list is another one, as on macOS or in a directory service. */
function nameOf(uid: number): string | undefined {
  try {
    const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
    return lines.map((line) => line.split(':')).find(([, , id]) => id === String(uid))?.[0];
  } catch {
    return undefined;
  }
}
