"""A ROS 2 package around the C code of a result, which is built where ROS is.

It has a plugin for `inverse_dynamics_solver` (Automatic Control Group, University of Salerno), which controllers load
by name, and a node that publishes the efforts that hold the robot against gravity. Efforts of position (springs) belong
to gravity there: both hold the robot at rest.
"""

from __future__ import annotations

import json
import re
from string import Template

from ..exceptions import InvalidModel
from .c_source import CodeOrigin, c_files
from .routines import Routines

PACKAGE_XML = Template("""\
<?xml version="1.0"?>
<package format="3">
  <name>$package</name>
  <version>0.0.0</version>
  <description>Dynamics of $robot, identified with poinsot $version</description>
  <maintainer email="nobody@example.com">nobody</maintainer>
  <license>none: your own result</license>

  <buildtool_depend>ament_cmake</buildtool_depend>
  <depend>eigen</depend>
  <depend>inverse_dynamics_solver</depend>
  <depend>pluginlib</depend>
  <depend>rclcpp</depend>
  <depend>sensor_msgs</depend>
  <depend>std_msgs</depend>

  <export>
    <build_type>ament_cmake</build_type>
  </export>
</package>
""")

CMAKE = Template("""\
cmake_minimum_required(VERSION 3.8)
project($package C CXX)

set(CMAKE_C_STANDARD 99)
set(CMAKE_CXX_STANDARD 17)

find_package(ament_cmake REQUIRED)
find_package(Eigen3 REQUIRED)
find_package(inverse_dynamics_solver REQUIRED)
find_package(pluginlib REQUIRED)
find_package(rclcpp REQUIRED)
find_package(sensor_msgs REQUIRED)
find_package(std_msgs REQUIRED)

add_library($package SHARED src/$name.c src/inverse_dynamics_solver.cpp)
target_include_directories($package PUBLIC include)
target_link_libraries($package m)
ament_target_dependencies($package Eigen3 inverse_dynamics_solver pluginlib rclcpp)
pluginlib_export_plugin_description_file(inverse_dynamics_solver plugin.xml)

add_executable(gravity_compensation src/gravity_compensation.cpp src/$name.c)
target_include_directories(gravity_compensation PRIVATE include)
target_link_libraries(gravity_compensation m)
ament_target_dependencies(gravity_compensation rclcpp sensor_msgs std_msgs)

install(TARGETS $package LIBRARY DESTINATION lib)
install(TARGETS gravity_compensation DESTINATION lib/$${PROJECT_NAME})
install(DIRECTORY include/ DESTINATION include)
ament_package()
""")

PLUGIN_XML = Template("""\
<library path="$package">
  <class name="$package/InverseDynamicsSolver" type="$package::InverseDynamicsSolver"
         base_class_type="inverse_dynamics_solver::InverseDynamicsSolver">
    <description>Dynamics of $robot, identified with poinsot $version</description>
  </class>
</library>
""")

SOLVER = Template("""\
// Dynamics of $robot for inverse_dynamics_solver; joints in the order of $name.h.
#include <string>

#include <inverse_dynamics_solver/inverse_dynamics_solver.hpp>
#include <pluginlib/class_list_macros.hpp>

#include "$package/$name.h"

namespace $package
{

class InverseDynamicsSolver : public inverse_dynamics_solver::InverseDynamicsSolver
{
public:
  // The dynamics are in the code: there is nothing to read.
  void initialize(rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr, const std::string &,
                  const std::string &) override
  {
  }

  Eigen::MatrixXd getInertiaMatrix(const Eigen::VectorXd & q) const override
  {
    // symmetric: rows and columns are alike
    Eigen::MatrixXd M(n, n);
    ${name}_mass_matrix(q.data(), M.data());
    return M;
  }

  Eigen::VectorXd getCoriolisVector(const Eigen::VectorXd & q, const Eigen::VectorXd & v) const override
  {
    const Eigen::VectorXd still = Eigen::VectorXd::Zero(n);
    return getTorques(q, v, still) - getGravityVector(q);
  }

  Eigen::VectorXd getGravityVector(const Eigen::VectorXd & q) const override
  {
    Eigen::VectorXd tau(n);
    ${name}_gravity(q.data(), tau.data());$springs
    return tau;
  }

  Eigen::VectorXd getFrictionVector(const Eigen::VectorXd & v) const override
  {
    Eigen::VectorXd tau(n);
    ${name}_friction(v.data(), tau.data());
    return tau;
  }

  // Without friction, as the interface says.
  Eigen::VectorXd getTorques(const Eigen::VectorXd & q, const Eigen::VectorXd & v,
                             const Eigen::VectorXd & a) const override
  {
    Eigen::VectorXd tau(n);
    ${name}_inverse_dynamics(q.data(), v.data(), a.data(), tau.data());
    return tau - getFrictionVector(v);
  }

private:
  static constexpr int n = $upper_JOINTS;
};

}  // namespace $package

PLUGINLIB_EXPORT_CLASS($package::InverseDynamicsSolver, inverse_dynamics_solver::InverseDynamicsSolver)
""")

SPRINGS = Template("""
    Eigen::VectorXd springs(n);
    ${name}_springs(q.data(), springs.data());
    tau = tau + springs;""")

NODE = Template("""\
// Gravity compensation of $robot: joint states in, efforts of an effort controller out.
//
//   ros2 run $package gravity_compensation --ros-args -r commands:=/effort_controller/commands
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/joint_state.hpp>
#include <std_msgs/msg/float64_multi_array.hpp>

#include "$package/$name.h"

class GravityCompensation : public rclcpp::Node
{
public:
  GravityCompensation() : Node("gravity_compensation")
  {
    // begin below 1: what is missing then, the robot's friction holds
    scale_ = declare_parameter("scale", 1.0);
    commands_ = create_publisher<std_msgs::msg::Float64MultiArray>("commands", 1);
    states_ = create_subscription<sensor_msgs::msg::JointState>(
      "joint_states", 1, [this](const sensor_msgs::msg::JointState & state) { compensate(state); });
  }

private:
  void compensate(const sensor_msgs::msg::JointState & state)
  {
    static const std::array<std::string, $upper_JOINTS> joints = {$joints};
    double q[$upper_JOINTS], tau[$upper_JOINTS];
    for (std::size_t k = 0; k < joints.size(); k++) {
      const auto found = std::find(state.name.begin(), state.name.end(), joints[k]);
      const auto place = static_cast<std::size_t>(found - state.name.begin());
      if (place >= state.position.size()) {
        return;  // a message of other joints
      }
      q[k] = state.position[place];
    }
    ${name}_gravity(q, tau);$springs
    std_msgs::msg::Float64MultiArray command;
    for (double effort : tau) {
      command.data.push_back(scale_ * effort);
    }
    commands_->publish(command);
  }

  double scale_;
  rclcpp::Publisher<std_msgs::msg::Float64MultiArray>::SharedPtr commands_;
  rclcpp::Subscription<sensor_msgs::msg::JointState>::SharedPtr states_;
};

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  rclcpp::spin(std::make_shared<GravityCompensation>());
  rclcpp::shutdown();
  return 0;
}
""")

NODE_SPRINGS = Template("""
    double springs[$upper_JOINTS];
    ${name}_springs(q, springs);
    for (std::size_t k = 0; k < joints.size(); k++) {
      tau[k] += springs[k];
    }""")


def ros2_files(routines: Routines, name: str, origin: CodeOrigin, regressor: bool = False) -> dict[str, str]:
    """File name with its folder -> text. The package is `NAME_dynamics`.

    Raises:
        InvalidModel: if the effort of a joint was not measured.
    """
    robot = routines.robot
    if len(robot.equations) < routines.size:
        raise InvalidModel("a controller needs the effort of every joint, and some were not measured")
    package = re.sub("_+", "_", f"{name.lower()}_dynamics").lstrip("_")
    code = c_files(routines, name, origin, regressor)
    values = {"package": package, "name": name, "upper_JOINTS": f"{name.upper()}_JOINTS"}
    values |= {"robot": re.sub(r"[^\w .-]", "_", robot.name), "version": origin.version}
    values["joints"] = ", ".join(map(json.dumps, robot.joints))
    has_springs = any(routine.name == "springs" for routine in routines.all())

    def filled(template: Template, springs: Template = SPRINGS) -> str:
        return template.substitute(values, springs=springs.substitute(values) if has_springs else "")

    files = {
        "package.xml": filled(PACKAGE_XML),
        "CMakeLists.txt": filled(CMAKE),
        "plugin.xml": filled(PLUGIN_XML),
        f"include/{package}/{name}.h": code[f"{name}.h"],
        f"src/{name}.c": code[f"{name}.c"].replace(f'"{name}.h"', f'"{package}/{name}.h"', 1),
        "src/inverse_dynamics_solver.cpp": filled(SOLVER),
        "src/gravity_compensation.cpp": filled(NODE, NODE_SPRINGS),
    }
    return {f"{package}/{path}": text for path, text in files.items()}
