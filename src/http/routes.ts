import { basePath, methodsOf, type Operation, operations } from '../contract/operations.ts';
import type { SuccessFields } from './headers.ts';

/** An operation with the headers each of its responses carries, and the end of a deprecated one. */
export interface RoutedOperation {
  readonly operation: Operation;
  readonly headers: SuccessFields | undefined;
  /** The instant in Unix ms from which it answers 410; undefined if it stays. */
  readonly removedAt: number | undefined;
}

/** A path under the version and what its methods do. */
export interface Route {
  /** As Bun's router writes it. */
  readonly path: string;
  readonly methods: ReadonlyMap<string, RoutedOperation>;
  /** The value of `Allow` on 405. */
  readonly allow: string;
}

/** The routes of the contract. `sunset` is the instant in Unix ms at which deprecated operations go. */
export function routesOf(publicUrl: string | undefined, sunset: number): Route[] {
  const byPath = Map.groupBy(Object.values(operations) as Operation[], ({ path }) => path);
  return [...byPath].map(([path, those]) => {
    const methods = new Map<string, RoutedOperation>();
    for (const operation of those) {
      const removedAt = operation.deprecation === undefined ? undefined : sunset;
      const routed = {
        operation,
        headers: deprecationHeaders(operation, publicUrl ?? '', sunset),
        removedAt,
      };
      for (const method of methodsOf(operation)) methods.set(method, routed);
    }
    const allow = [...methods.keys()].sort().join(', ');
    return { path: basePath + path.replace(/\{(\w+)\}/g, ':$1'), methods, allow };
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
      `<${publicUrl}/docs>; rel="deprecation"; type="text/html"`,
  };
}
