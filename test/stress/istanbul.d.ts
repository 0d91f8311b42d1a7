/** Declares only the functions used here, because the published types would add three packages. */
declare module 'istanbul-lib-instrument' {
  interface Instrumenter {
    instrumentSync(code: string, path: string): string;
  }
  export function createInstrumenter(options: {
    readonly esModules: boolean;
    readonly parserPlugins: readonly string[];
    readonly coverageVariable: string;
  }): Instrumenter;
}
