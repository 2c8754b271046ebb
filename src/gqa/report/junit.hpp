// Audits as a JUnit XML report, for continuous integration.
#pragma once

#include <string>
#include <vector>

#include "gqa/report/audit_report.hpp"

namespace gqa {

/// A <testsuites> document with one <testsuite> and, for every case and output, one
/// <testcase classname="PATH" name="OUTPUT">: failed with where and the worst elements; an
/// undecided output and a case that could not be read are errors, so that nothing but a pass
/// looks like one; the name of an output of which a sample was audited says so. Without any case,
/// one error says so.
///
/// Text is XML 1.0: & < > " and white space in attributes are escaped, bytes that are not
/// UTF-8 and characters that XML forbids become U+FFFD.
///
/// Source: the JUnit schema as Jenkins, GitLab and GitHub read it
/// (https://github.com/testmoapp/junitxml).
std::string junit_xml(const std::vector<AuditCase>& cases);

/// `text` as the content of an XML attribute or element, as junit_xml escapes it.
std::string xml_escaped(std::string_view text);

}  // namespace gqa
