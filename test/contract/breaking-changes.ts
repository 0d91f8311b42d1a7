/** Finds breaking changes between two OpenAPI documents. */
import {
  type Document,
  type Operation,
  type Parameter,
  type Response,
  resolvedIn,
  type Schema,
} from './document.ts';
import { schemaBreaks } from './schema-breaks.ts';

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;

/** A sentence for each breaking change. Empty if all changes are additive. */
export function breakingChanges(before: Document, after: Document): string[] {
  return Object.entries(before.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const [old, now] = [item[method], after.paths[path]?.[method]];
      const place = `${method.toUpperCase()} ${path}`;
      if (old === undefined) return [];
      if (now === undefined) return [`${place} was removed`];
      return new Comparison(before, after, place).breaks(old, now);
    }),
  );
}

/** One operation, before and after. */
class Comparison {
  readonly #before: Document;
  readonly #after: Document;
  readonly #place: string;

  constructor(before: Document, after: Document, place: string) {
    this.#before = before;
    this.#after = after;
    this.#place = place;
  }

  breaks(old: Operation, now: Operation): string[] {
    const isStable = old['x-stability'] === 'stable';
    return [
      ...(old.operationId === now.operationId ? [] : ['has a different operationId']),
      ...(isStable && now['x-stability'] !== 'stable' ? ['is no longer stable'] : []),
      ...this.#parameterBreaks(old, now),
      ...this.#bodyBreaks(old, now),
      ...this.#responseBreaks(old, now, isStable),
    ].map((what) => `${this.#place} ${what}`);
  }

  #parameterBreaks(old: Operation, now: Operation): string[] {
    const was = this.#parameters(this.#before, old);
    const is = this.#parameters(this.#after, now);
    const kept = [...was].flatMap(([name, { schema }]) => {
      const found = is.get(name);
      if (found === undefined) return [`no longer accepts ${name}`];
      return this.#schemaBreaks('request', schema, found.schema).map((what) => `${name}: ${what}`);
    });
    const demanded = [...is].flatMap(([name, { required }]) =>
      required && !was.get(name)?.required ? [`requires ${name}`] : [],
    );
    return [...kept, ...demanded];
  }

  #parameters(document: Document, { parameters = [] }: Operation): Map<string, Parameter> {
    const all = parameters.map((one) => resolvedIn(document, one));
    return new Map(all.map((one) => [`${one.in} parameter ${one.name.toLowerCase()}`, one]));
  }

  #bodyBreaks({ requestBody: old }: Operation, { requestBody: now }: Operation): string[] {
    if (old === undefined) return now?.required ? ['requires a body'] : [];
    if (now === undefined) return ['no longer accepts a body'];
    return [
      ...(now.required && !old.required ? ['requires a body'] : []),
      ...Object.entries(old.content).flatMap(([type, { schema }]) => {
        const found = now.content[type];
        if (found === undefined) return [`no longer accepts ${type}`];
        return this.#schemaBreaks('request', schema, found.schema).map((what) => `body: ${what}`);
      }),
    ];
  }

  #responseBreaks(old: Operation, now: Operation, isStable: boolean): string[] {
    const succeedsAnew = Object.keys(now.responses).filter(
      (status) => isStable && status.startsWith('2') && old.responses[status] === undefined,
    );
    const kept = Object.entries(old.responses).flatMap(([status, declared]) => {
      const found = now.responses[status];
      if (found === undefined) return [`no longer has response ${status}`];
      const [was, is] = [resolvedIn(this.#before, declared), resolvedIn(this.#after, found)];
      const isFixed = isStable && status.startsWith('2');
      return this.#oneResponseBreaks(was, is, isFixed).map((what) => `response ${status}: ${what}`);
    });
    return [...succeedsAnew.map((status) => `has the new success status ${status}`), ...kept];
  }

  /** If `isFixed`, the response must not change at all. Otherwise, it may gain members. */
  #oneResponseBreaks(old: Response, now: Response, isFixed: boolean): string[] {
    const isDemoted = old['x-stability'] === undefined && now['x-stability'] !== undefined;
    const headers = Object.entries(old.headers ?? {}).flatMap(([name, declared]) => {
      const found = now.headers?.[name];
      if (found === undefined) return [`no longer has the header ${name}`];
      const [was, is] = [resolvedIn(this.#before, declared), resolvedIn(this.#after, found)];
      if (was.required && !is.required) return [`may lack the header ${name}`];
      return this.#schemaBreaks('response', was.schema, is.schema).map((what) => `${name}: ${what}`);
    });
    const bodies = Object.entries(old.content ?? {}).flatMap(([type, { schema }]) => {
      const found = now.content?.[type];
      if (found === undefined) return [`is no ${type} any more`];
      return this.#schemaBreaks(isFixed ? 'fixed' : 'response', schema, found.schema);
    });
    const gained = Object.keys(now.content ?? {}).filter(
      (type) => isFixed && old.content?.[type] === undefined,
    );
    return [
      ...(isDemoted ? ['is no longer stable'] : []),
      ...headers,
      ...bodies,
      ...gained.map((type) => `can be ${type}`),
    ];
  }

  #schemaBreaks(direction: 'request' | 'response' | 'fixed', old: Schema, now: Schema): string[] {
    return schemaBreaks(
      direction,
      { document: this.#before, schema: old },
      { document: this.#after, schema: now },
    );
  }
}
