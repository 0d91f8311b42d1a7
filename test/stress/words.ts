/** The words of a text as they are written: a backslash stands for itself. ASCII only, for Bun escapes the rest. */
export function words({ raw }: TemplateStringsArray): string[] {
  return raw.join('').trim().split(/\s+/);
}

/** The texts of a list that is separated by `|`, for those with white space. */
export const texts = (list: string): string[] => list.split('|');
