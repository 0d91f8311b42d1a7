/** The words of a text as they are written: a backslash stands for itself. ASCII only, for Bun escapes the rest. */
export function words({ raw }: TemplateStringsArray): string[] {
  return raw.join('').trim().split(/\s+/);
}
