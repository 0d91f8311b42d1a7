import type { Operation } from '../../contract/operation.ts';
import { allOperations, allowedMethods, basePath, type OperationId } from '../../contract/operations.ts';
import type { HeaderFields } from './response-headers.ts';

/** An operation with the headers of its responses and, if the operation is deprecated, its removal time. */
export interface RoutedOperation {
  readonly operation: Operation & { readonly operationId: OperationId };
  readonly headers: HeaderFields | undefined;
  /** Time in Unix ms after which the operation responds with 410; undefined if no removal is planned. */
  readonly removedAt: number | undefined;
}

export interface Route<Routed = RoutedOperation> {
  readonly path: string;
  readonly methods: ReadonlyMap<string, Routed>;
  readonly allow: string;
}

export function createRoutes<Row extends Operation, Routed>(
  base: string,
  rows: readonly Row[],
  routedOf: (row: Row) => Routed,
): Route<Routed>[] {
  return [...Map.groupBy(rows, ({ path }) => path)].map(([path, those]) => {
    const methods = new Map<string, Routed>();
    for (const row of those) {
      const routed = routedOf(row);
      for (const method of allowedMethods(row)) methods.set(method, routed);
    }
    const allow = [...methods.keys()].sort().join(', ');
    return { path: base + path.replace(/\{(\w+)\}/g, ':$1'), methods, allow };
  });
}

/** The routes of the API. `sunsets` overrides the announced removal times of deprecated operations, in Unix ms. */
export function createApiRoutes(
  publicUrl: string | undefined,
  sunsets: Readonly<Partial<Record<OperationId, number>>>,
): Route[] {
  return createRoutes(basePath, allOperations, (operation) => {
    const removedAt =
      operation.deprecation && (sunsets[operation.operationId] ?? operation.deprecation.sunset.getTime());
    const headers = removedAt && deprecationHeaders(operation, publicUrl ?? '', removedAt);
    return { operation, headers: headers || undefined, removedAt };
  });
}

/** `Deprecation` (RFC 9745), `Sunset` (RFC 8594), and links to the successor and the documentation. */
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
