/** Finds changes to a JSON Schema that break clients, in requests or in responses. */
import { resolvedIn, type Schema } from './document.ts';

/** A `fixed` schema must not change in either direction. */
export type Direction = 'request' | 'response' | 'fixed';

interface Located {
  readonly document: object;
  readonly schema: Schema;
}

/** Keywords for lower bounds. Raising a lower bound allows fewer values, like lowering an upper bound. */
const lowerBounds = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'] as const;
const upperBounds = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'] as const;
/** Keywords whose values have no order. Any change to them breaks clients. */
const sameAlways = ['const', 'pattern', 'format', 'default', 'multipleOf', 'uniqueItems'] as const;
const combinations = ['allOf', 'anyOf', 'oneOf'] as const;

/** One sentence per breaking change. Empty if earlier requests remain valid and responses match the earlier schema. */
export function schemaBreaks(direction: Direction, old: Located, now: Located, at = 'value'): string[] {
  const [was, is] = [resolvedIn(old.document, old.schema), resolvedIn(now.document, now.schema)];
  const inner = (name: string, oldPart: Schema, nowPart: Schema) =>
    schemaBreaks(direction, { ...old, schema: oldPart }, { ...now, schema: nowPart }, `${at}.${name}`);
  return [
    ...typeBreaks(was, is).map((what) => `${at} ${what}`),
    ...enumBreaks(direction, was, is).map((what) => `${at} ${what}`),
    ...boundBreaks(direction, was, is).map((what) => `${at} ${what}`),
    ...memberBreaks(direction, was, is).map((what) => `${at} ${what}`),
    ...Object.entries(was.properties ?? {}).flatMap(([name, part]) => {
      const found = is.properties?.[name];
      return found === undefined ? [`${at}.${name} was removed`] : inner(name, part, found);
    }),
    ...(was.items && is.items ? inner('items', was.items, is.items) : []),
    ...((was.items === undefined) !== (is.items === undefined) ? [`${at} has different items`] : []),
    ...combinations.flatMap((keyword) => {
      const [oldParts, nowParts] = [partsOf(was, keyword), partsOf(is, keyword)];
      if (oldParts.length !== nowParts.length) return [`${at} has a different ${keyword}`];
      return oldParts.flatMap((part, index) => inner(`${keyword}[${index}]`, part, nowParts[index] ?? {}));
    }),
  ];
}

function partsOf(schema: Schema, keyword: (typeof combinations)[number]): readonly Schema[] {
  const parts = schema[keyword];
  return Array.isArray(parts) ? parts : [];
}

function typeBreaks(was: Schema, is: Schema): string[] {
  const words = ({ type }: Schema) => [type ?? []].flat().sort().join(' or ');
  const changed = sameAlways.filter(
    (keyword) => JSON.stringify(was[keyword]) !== JSON.stringify(is[keyword]),
  );
  return [
    ...(words(was) === words(is) ? [] : [`is ${words(is)}, not ${words(was)}`]),
    ...changed.map((keyword) => `has a different ${keyword}`),
  ];
}

/** Responses may have new values, because clients handle an unknown code by its status. */
function enumBreaks(direction: Direction, was: Schema, is: Schema): string[] {
  if (direction === 'response') return was.enum && !is.enum ? ['is no longer an enumeration'] : [];
  if (was.enum === undefined) return is.enum ? ['is now an enumeration'] : [];
  const gone = was.enum.filter((word) => !is.enum?.includes(word));
  const gained = (is.enum ?? []).filter((word) => direction === 'fixed' && !was.enum?.includes(word));
  return [
    ...gone.map((word) => `lacks the value ${word}`),
    ...gained.map((word) => `has the new value ${word}`),
  ];
}

function boundBreaks(direction: Direction, was: Schema, is: Schema): string[] {
  const numberOf = (schema: Schema, keyword: string, otherwise: number) =>
    Number(schema[keyword] ?? otherwise);
  return [...lowerBounds, ...upperBounds].flatMap((keyword) => {
    const isLower = lowerBounds.some((one) => one === keyword);
    const otherwise = isLower ? -Infinity : Infinity;
    const [before, after] = [numberOf(was, keyword, otherwise), numberOf(is, keyword, otherwise)];
    if (before === after) return [];
    const isNarrower = isLower ? after > before : after < before;
    const breaks = direction === 'fixed' || (direction === 'request' ? isNarrower : !isNarrower);
    return breaks ? [`has the ${keyword} ${after}, not ${before}`] : [];
  });
}

function memberBreaks(direction: Direction, was: Schema, is: Schema): string[] {
  const missing = (names: readonly string[] = [], from: readonly string[] = []) =>
    names.filter((name) => !from.includes(name));
  const demanded = direction === 'response' ? [] : missing(is.required, was.required);
  const given = direction === 'request' ? [] : missing(was.required, is.required);
  const gained =
    direction === 'fixed' ? missing(Object.keys(is.properties ?? {}), Object.keys(was.properties ?? {})) : [];
  const isClosed = was.additionalProperties !== false && is.additionalProperties === false;
  return [
    ...demanded.map((name) => `requires ${name}`),
    ...given.map((name) => `may lack ${name}`),
    ...gained.map((name) => `has the new member ${name}`),
    ...(isClosed ? ['no longer accepts other members'] : []),
  ];
}
