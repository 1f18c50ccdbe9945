/* Tools that run from the folder where they were built. */
#ifndef TOOLS_UNINSTALLED_H
#define TOOLS_UNINSTALLED_H

/* An uninstalled tool looks for plugins in its own build, unless ENGINE_PLUGIN_PATH says otherwise; called before the
 * first context. */
void find_uninstalled_plugins(void);

#endif
