/**
 * Elements of lists in request headers. A request head can contain 16,000 elements, which would take a thousand times as
 * long as those of real lists, so only some of them are read. A recipient must ignore a reasonable number of empty
 * elements, but not enough for a denial of service (RFC 9110, section 5.6.1.2).
 */

/** Maximum number of elements of a list that are read. Real lists have fewer than ten. */
export const maxElements = 64;

/** The first elements of a list that is separated by commas. */
export function firstElements(list: string): string[] {
  return list.split(',', maxElements).map((element) => element.trim());
}

/** The last elements of a list, in reverse order. */
export function lastElements(list: string, separator = ',', max = maxElements): string[] {
  const elements: string[] = [];
  let end = list.length;
  while (end >= 0 && elements.length < max) {
    const before = end === 0 ? -1 : list.lastIndexOf(separator, end - 1);
    elements.push(list.slice(before + 1, end).trim());
    end = before;
  }
  return elements;
}
