import type { Operation } from '../../contract/operation.ts';
import { allOperations, basePath, methodsOf, type OperationId } from '../../contract/operations.ts';
import type { HeaderFields } from './headers.ts';

/** An operation with the headers of its responses, and the sunset of a deprecated one. */
export interface RoutedOperation {
  readonly operation: Operation & { readonly operationId: OperationId };
  readonly headers: HeaderFields | undefined;
  /** The instant in Unix ms from which it answers 410; undefined if it is not removed. */
  readonly removedAt: number | undefined;
}

export interface Route<Routed = RoutedOperation> {
  readonly path: string;
  readonly methods: ReadonlyMap<string, Routed>;
  readonly allow: string;
}

export function routesBelow<Row extends Operation, Routed>(
  base: string,
  rows: readonly Row[],
  routedOf: (row: Row) => Routed,
): Route<Routed>[] {
  return [...Map.groupBy(rows, ({ path }) => path)].map(([path, those]) => {
    const methods = new Map<string, Routed>();
    for (const row of those) {
      const routed = routedOf(row);
      for (const method of methodsOf(row)) methods.set(method, routed);
    }
    const allow = [...methods.keys()].sort().join(', ');
    return { path: base + path.replace(/\{(\w+)\}/g, ':$1'), methods, allow };
  });
}

/**
 * The routes of the contract. `sunsets` has the instants in Unix ms at which deprecated operations are removed;
 * defaults to the announced ones.
 */
export function routesOf(
  publicUrl: string | undefined,
  sunsets: Readonly<Partial<Record<OperationId, number>>>,
): Route[] {
  return routesBelow(basePath, allOperations, (operation) => {
    const removedAt =
      operation.deprecation && (sunsets[operation.operationId] ?? operation.deprecation.sunset.getTime());
    const headers = removedAt && deprecationHeaders(operation, publicUrl ?? '', removedAt);
    return { operation, headers: headers || undefined, removedAt };
  });
}

/** RFC 9745 (Deprecation), RFC 8594 (Sunset) and links to the successor and the documentation. */
function deprecationHeaders({ deprecation }: Operation, publicUrl: string, sunset: number) {
  if (deprecation === undefined) return undefined;
  return {
    Deprecation: `@${deprecation.announcedAt.getTime() / 1_000}`,
    Sunset: new Date(sunset).toUTCString(),
    Link:
      `<${publicUrl}${basePath}${deprecation.successor}>; rel="successor-version", ` +
      `<${publicUrl}/docs/guides/versioning>; rel="deprecation"; type="text/html"`,
  };
}
