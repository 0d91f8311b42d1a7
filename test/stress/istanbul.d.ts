/** The little of it that is used; its published types bring three packages more. */
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
