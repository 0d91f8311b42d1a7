/** Preloaded by output.test.ts. SIGUSR2 causes an uncaught exception. */
process.on('SIGUSR2', () => {
  throw new Error('A fault in the service.');
});
