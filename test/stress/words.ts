/** Splits a text into words, with backslashes unchanged. ASCII only, because Bun escapes other characters. */
export function words({ raw }: TemplateStringsArray): string[] {
  return raw.join('').trim().split(/\s+/);
}

/** The texts of a list that is separated by `|`, for those with whitespace. */
export const texts = (list: string): string[] => list.split('|');
